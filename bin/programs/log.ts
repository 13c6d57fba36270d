import { closeSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { destination, type Logger, pino } from 'pino';
import { PinoPretty as pretty } from 'pino-pretty';
import { makeDirectory } from '../../actors/shared/make-directory.ts';
import { StartError } from '../../machines/protocol/start-error.ts';

/** Where a program's log goes and how much of it. */
export interface LogConfig {
  logLevel: string;
  /** Appended to; absent: stderr. */
  logFile?: string | undefined;
}

/** Characters of lines that wait because the log cannot be written. */
const LONGEST_BACKLOG = 1024 * 1024;

/**
 * Opens a program's log: one JSON line an entry, or on a terminal one readable line. Tokens never reach it.
 * Should the process end by a fault that nobody caught, that is its last entry.
 * @throws StartError `log_unwritable`
 */
export async function openLog(
  name: string,
  { logLevel, logFile }: LogConfig,
): Promise<{ log: Logger; close(): void }> {
  const file = logFile === undefined ? undefined : await openFile(resolve(logFile));
  const onTerminal = file === undefined && process.stderr.isTTY;
  const stream = onTerminal
    ? pretty({
        destination: 2,
        sync: true,
        ignore: 'pid,name',
        translateTime: 'SYS:HH:MM:ss',
        singleLine: true,
      })
    : destination({ dest: file ?? 2, sync: true, maxLength: LONGEST_BACKLOG });
  // A full disk below the log ends no program: lines wait for room, as many as may, and the rest is lost.
  stream.on('error', () => {});
  const log = pino({ name, level: logLevel, base: { name, pid: process.pid } }, stream);
  const dying = (fault: Error, origin: string) =>
    log.fatal({ err: fault, origin }, `internal fault: ends now (${String(fault?.message ?? fault)})`);
  // Looks on only: what happens then, a trace on stderr and the end, stays as it is.
  process.on('uncaughtExceptionMonitor', dying);
  const close = () => {
    process.off('uncaughtExceptionMonitor', dying);
    // What is logged after this is dropped rather than written to a closed file.
    log.level = 'silent';
    if (file !== undefined) closeSync(file);
  };
  return { log, close };
}

async function openFile(path: string): Promise<number> {
  try {
    await makeDirectory(dirname(path));
    return openSync(path, 'a');
  } catch (fault) {
    const why = (fault as NodeJS.ErrnoException).code ?? String(fault);
    throw new StartError(
      'log_unwritable',
      `cannot write the log file ${path} (${why}); choose another with --log-file`,
    );
  }
}
