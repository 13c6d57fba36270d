import type { Dirent } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

/**
 * Everything below a directory in which a program is at work. A walk that meets a directory which is being removed
 * begins anew, so that what is gone is not taken for a fault.
 */
export async function entriesBelow(directory: string): Promise<Dirent[]> {
  for (;;) {
    try {
      return await readdir(directory, { recursive: true, withFileTypes: true });
    } catch (fault) {
      const { code, path } = fault as NodeJS.ErrnoException;
      if (code !== 'ENOENT' || path === directory) throw fault;
    }
  }
}

/** The bytes of a file as latin1; nothing where it has gone meanwhile. */
export const textOf = (path: string): Promise<string> =>
  readFile(path, 'latin1').catch((fault: NodeJS.ErrnoException) => {
    if (fault.code === 'ENOENT') return '';
    throw fault;
  });
