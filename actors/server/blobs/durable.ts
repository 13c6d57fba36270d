import { copyFile, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { makeDirectory } from '../../shared/make-directory.ts';
import { COMING } from './paths.ts';

/** Makes the names in a folder survive a crash of the machine, where the file system can be asked to. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch((fault: NodeJS.ErrnoException) => {
    // Windows opens no folders.
    if (process.platform === 'win32') return null;
    throw fault;
  });
  try {
    await folder?.sync();
  } catch (error) {
    // Windows may open a folder, and refuses this.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EINVAL' && !(code === 'EPERM' && process.platform === 'win32')) throw error;
  } finally {
    await folder?.close();
  }
}

/** Moves files to where they stay, in folders that are made when they are first needed. */
export class DurableMoves {
  readonly #sync: (folder: string) => Promise<void>;
  /** Folders whose own names are known to survive: this process has synced the folders above them. */
  readonly #rooted = new Set<string>();

  /** @param sync stand-in for tests */
  constructor(sync = syncFolder) {
    this.#sync = sync;
  }

  /**
   * Moves a file to `root/folder/…/name`. That a folder is there says nothing of the disk: an earlier process may have
   * died between making it and syncing the one above, so those above are synced once in the life of this process.
   */
  async move(path: string, target: string, root: string): Promise<void> {
    const folder = dirname(target);
    await makeDirectory(folder);
    await rename(path, target).catch((fault: NodeJS.ErrnoException) => {
      if (fault.code !== 'EXDEV') throw fault;
      return moveAcross(path, target, join(root, COMING));
    });
    await this.#sync(folder);
    if (this.#rooted.has(folder)) return;
    // A root may be written as it likes, as `./state` or `/state/`: it is the same folder.
    const base = resolve(root);
    for (let above = resolve(folder); above !== base && above !== dirname(above); ) {
      above = dirname(above);
      await this.#sync(above);
    }
    this.#rooted.add(folder);
  }
}

/** From another file system: what stands under its name there is whole at any time. @param by a folder on the way, over there */
async function moveAcross(path: string, target: string, by: string): Promise<void> {
  await makeDirectory(by);
  const draft = join(by, basename(path));
  try {
    await copyFile(path, draft);
    const file = await open(draft, 'r+');
    await file.sync().finally(() => file.close());
    await rename(draft, target);
  } finally {
    await rm(draft, { force: true });
  }
  await rm(path);
}
