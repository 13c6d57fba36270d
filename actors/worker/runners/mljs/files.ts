import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { suggestPathsSync } from '../../../shared/suggest-paths.ts';
import { InputError } from '../../errors.ts';

const FAULT_CODES = new Map([
  ['ENOENT', 'not found'],
  ['ENOTDIR', 'not found'],
  ['EISDIR', 'is a directory, not a file'],
  ['EACCES', 'may not be read'],
]);

/**
 * Reads a text file that the user named.
 *
 * @param path file to read
 * @param what how messages call the file, e.g. `pipeline file`
 * @throws InputError if the file is missing or cannot be opened by this user; other errors (disk, network
 *   share) are passed on because a retry may succeed
 */
export function readText(path: string, what: string): string {
  return readBytes(path, what).toString('utf8');
}

/** The bytes of a file that the user named, with the same errors as {@link readText}. */
export function readBytes(path: string, what: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const reason = FAULT_CODES.get((error as NodeJS.ErrnoException).code ?? '');
    if (reason === undefined) throw error;
    const there = reason === 'not found' ? suggestPathsSync(path) : '';
    throw new InputError(`${what} ${reason}: ${path}${there}`);
  }
}

/** Writes JSON as {@link writeWhole} does. */
export function writeJson(path: string, value: unknown): void {
  writeWhole(path, `${JSON.stringify(value, null, 2)}\n`);
}

/**
 * Writes a text so that a reader sees the old file or the whole new one, never a part.
 *
 * @param path file to write; its folder must exist
 */
export function writeWhole(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, text);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
