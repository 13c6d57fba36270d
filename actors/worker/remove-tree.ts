import { randomUUID } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { join, sep } from 'node:path';

/** Characters of a path below the folder that any system takes, with those of the folder before them. */
const SHORT = 2_000;

/**
 * Removes a folder that a task may have filled. One that nests folders deeper than a path may be long, which a program
 * can make step by step, is brought up piece by piece.
 * @throws the system's error, as where something is mounted in it
 */
export async function removeTree(root: string): Promise<void> {
  for (;;) {
    try {
      await rm(root, { recursive: true, force: true });
      return;
    } catch (fault) {
      const { code, path } = fault as NodeJS.ErrnoException;
      if (code !== 'ENAMETOOLONG' || !path?.startsWith(root + sep)) throw fault;
      const end = path.lastIndexOf(sep, root.length + SHORT);
      // It ends: each time the deepest of what is left is nearer, and what is not deep is gone.
      await rename(path.slice(0, end), join(root, randomUUID()));
    }
  }
}
