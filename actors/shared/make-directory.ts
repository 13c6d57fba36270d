import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a directory with all that it lies in. One step at a time: where a folder cannot be made although its
 * parent exists (as in /proc), Node's own recursive `mkdir` tries for ever.
 * @throws the system's error of the step that failed
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || parent === path) throw fault;
    await makeDirectory(parent);
    await mkdir(path);
  }
}
