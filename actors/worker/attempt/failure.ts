import type { Failed } from '../../../machines/attempt/attempt.ts';
import { InputError, WorkerError } from '../errors.ts';

/** What the system's errors mean to a person; they are about this worker's own files and processes. */
const WORDS: Record<string, string> = {
  ENOSPC: 'its disk is full',
  EDQUOT: 'its disk quota is used up',
  EROFS: 'its disk cannot be written to',
  EIO: 'its disk gives errors',
  EACCES: 'it may not use its own files',
  EPERM: 'it may not use its own files',
  EMFILE: 'it has no file descriptors left',
  ENFILE: 'its machine has no file descriptors left',
  ENOMEM: 'its memory is used up',
  EAGAIN: 'it may start no more processes',
  SQLITE_FULL: 'its disk is full',
  SQLITE_IOERR: 'its disk gives errors',
  SQLITE_READONLY: 'its disk cannot be written to',
  SQLITE_CANTOPEN: 'it cannot open its own files',
};

/**
 * The worker's fault that an error of the system is. Steps wrap what is wrong with paths that a job names, so all
 * that comes here as it is concerns this worker's own files and processes.
 * @returns null for an error that the system has not made
 */
export function ownError(error: unknown): WorkerError | null {
  if (error instanceof WorkerError) return error;
  if (!(error instanceof Error)) return null;
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (code === undefined || (syscall === undefined && !code.startsWith('SQLITE_'))) return null;
  const details = { own: true, cause: error };
  if (syscall?.startsWith('spawn')) {
    return new WorkerError(`this worker cannot start the runner (${message})`, details);
  }
  const words = WORDS[code] ?? 'it cannot use its own files';
  return new WorkerError(`this worker cannot run tasks: ${words} (${message})`, details);
}

/** How an error is reported. */
export function failedBy(error: unknown): Failed {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof InputError)
    return { verb: 'fail', failure: { error: message, retriable: false, fault: 'input' } };
  const own = ownError(error);
  if (own === null) return { verb: 'fail', failure: { error: message, retriable: true, fault: 'task' } };
  const { missingPath: missing_path } = own;
  return {
    verb: 'fail',
    failure: {
      error: own.message,
      retriable: true,
      fault: 'worker',
      ...(missing_path !== undefined && { missing_path }),
    },
    ...(own.own && { own: true }),
  };
}
