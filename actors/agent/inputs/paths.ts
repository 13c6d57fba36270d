import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isLeftover } from '../../file-names.ts';
import { whatIsThere } from '../../what-is-there.ts';
import { WorkerFault } from '../failure.ts';
import { InputFault } from './fault.ts';

/**
 * A path as the job names it, made absolute (relative ones count from where the worker was started).
 * @param what how messages call it
 * @throws InputFault when it is not a file where one is needed, `WorkerFault` when it is missing or cannot be read
 *   here: another worker may have it
 */
export async function existingPath(path: string, what: string, needs: 'file' | 'any'): Promise<string> {
  const absolute = resolve(path);
  try {
    const found = await stat(absolute);
    if (needs === 'file' && !found.isFile()) throw new InputFault(`${what} is not a file: ${path}`);
    await access(absolute, constants.R_OK);
    return absolute;
  } catch (fault) {
    throw fault instanceof InputFault ? fault : missingHere(fault, path, what, await whatIsThere(absolute));
  }
}

/** The fault that a path which the job names gives this worker nothing: it is missing, or its share is out of order. */
export function missingHere(fault: unknown, path: string, what: string, there = ''): WorkerFault {
  const { code } = fault as NodeJS.ErrnoException;
  const missing = code === 'ENOENT' || code === 'ENOTDIR';
  const why = missing ? 'does not exist on this worker' : `cannot be read on this worker (${code})`;
  return new WorkerFault(`${what} ${why}: ${path}${missing ? there : ''}`, {
    missingPath: path,
    cause: fault,
  });
}

/** The only folder in a folder, where there is nothing beside it but leftovers of file managers; else undefined. */
export async function singleFolderIn(folder: string): Promise<string | undefined> {
  const entries = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !isLeftover(name));
  const only = entries[0];
  return entries.length === 1 && only?.isDirectory() ? join(folder, only.name) : undefined;
}
