import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Replaces a file so that after a crash either the old or the new content is there, whole. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const draft = `${path}.draft`;
  const file = await open(draft, 'w');
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
  await syncPath(dirname(path));
}

/** Makes a file, or the names in a folder, survive a crash of the machine. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } catch (fault) {
    // Some file systems know no fsync of folders.
    const { code } = fault as NodeJS.ErrnoException;
    if (code !== 'EINVAL' && code !== 'EPERM' && code !== 'EISDIR') throw fault;
  } finally {
    await handle.close();
  }
}
