import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a directory with all that it lies in. One step at a time: where a folder cannot be made although its
 * parent exists (as in /proc), Node's own recursive `mkdir` tries for ever.
 * @throws the system's error of the step that failed
 */
export async function makeDirectory(path: string): Promise<void> {
  const parent = dirname(path);
  try {
    await makeOne(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === path) throw error;
    await makeDirectory(parent);
    await makeOne(path);
  }
}

/** Others may make the same at the same time. */
async function makeOne(path: string): Promise<void> {
  await mkdir(path).catch((fault: NodeJS.ErrnoException) => {
    if (fault.code !== 'EEXIST') throw fault;
  });
}
