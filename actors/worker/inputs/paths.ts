import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isLeftover } from '../../shared/file-names.ts';
import { suggestPaths } from '../../shared/suggest-paths.ts';
import { InputError, WorkerError } from '../errors.ts';

/**
 * A path as the job names it, made absolute (relative ones count from where the worker was started).
 * @param what how messages call it
 * @throws InputError when it is not a file where one is needed, `WorkerError` when it is missing or cannot be read
 *   here: another worker may have it
 */
export async function existingPath(path: string, what: string, needs: 'file' | 'any'): Promise<string> {
  const absolute = resolve(path);
  try {
    const isWrong = needs === 'file' && !(await stat(absolute)).isFile();
    if (isWrong) throw new InputError(`${what} is not a file: ${path}`);
    await access(absolute, constants.R_OK);
    return absolute;
  } catch (error) {
    throw error instanceof InputError ? error : missingHere(error, path, what, await suggestPaths(absolute));
  }
}

/** The fault that a path which the job names gives this worker nothing: it is missing, or its share is out of order. */
export function missingHere(error: unknown, path: string, what: string, there = ''): WorkerError {
  const { code } = error as NodeJS.ErrnoException;
  const missing = code === 'ENOENT' || code === 'ENOTDIR';
  const why = missing ? 'does not exist on this worker' : `cannot be read on this worker (${code})`;
  return new WorkerError(`${what} ${why}: ${path}${missing ? there : ''}`, {
    missingPath: path,
    cause: error,
  });
}

/** The only folder in a folder, where there is nothing beside it but leftovers of file managers; else undefined. */
export async function singleFolderIn(folder: string): Promise<string | undefined> {
  const entries = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !isLeftover(name));
  const only = entries[0];
  return entries.length === 1 && only?.isDirectory() ? join(folder, only.name) : undefined;
}
