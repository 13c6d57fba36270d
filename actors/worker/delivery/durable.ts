import { closeSync, fsync, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const synced = promisify(fsync);

/** Replaces a file so that after a crash either the old or the new content is there, whole. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const draft = `${path}.draft`;
  // Only what waits for the disk waits in another thread, which by itself costs more than all the rest.
  const file = openSync(draft, 'w');
  try {
    writeFileSync(file, text);
    await synced(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
  await syncPath(dirname(path));
}

/** Makes a file, or the names in a folder, survive a crash of the machine. */
export async function syncPath(path: string): Promise<void> {
  const handle = openSync(path, 'r');
  try {
    await synced(handle);
  } catch (error) {
    // Some file systems know no fsync of folders.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EINVAL' && code !== 'EPERM' && code !== 'EISDIR') throw error;
  } finally {
    closeSync(handle);
  }
}
