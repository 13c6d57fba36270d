import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a directory and its parents. Unlike `mkdir` with `recursive` it also ends where the file system answers
 * that a directory which exists does not (`/proc`): there Node 20 tries for ever.
 * @throws the fault of the file system
 */
export async function makeDirectory(path: string): Promise<void> {
  try {
    await make(path);
  } catch (fault) {
    const parent = dirname(path);
    if ((fault as NodeJS.ErrnoException).code !== 'ENOENT' || parent === path) throw fault;
    await makeDirectory(parent);
    await make(path);
  }
}

async function make(path: string): Promise<void> {
  await mkdir(path).catch((fault: NodeJS.ErrnoException) => {
    // A file in its place shows when something is put into it.
    if (fault.code !== 'EEXIST') throw fault;
  });
}
