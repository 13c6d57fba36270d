import { readdir, realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { isLeftover } from '../../../actors/shared/file-names.ts';

/** The files of a folder, and which links in it were not followed. */
export interface FolderFiles {
  files: string[];
  /** A sentence each. */
  leftOut: string[];
}

/** Leftovers of file managers and hidden files, and what Python caches. */
const isNoise = (name: string): boolean => isLeftover(name) || name === '__pycache__';

/**
 * Lists the files of a folder, those in its folders included, hidden ones and leftovers of file managers left out.
 * Links are followed within the folder; one that leads outside of it, nowhere, or around in a circle is left out.
 */
export async function filesOf(folder: string): Promise<FolderFiles> {
  const root = await realpath(folder);
  const found: FolderFiles = { files: [], leftOut: [] };
  await walk(folder, [root], { root, folder, found });
  return found;
}

interface Walk {
  root: string;
  folder: string;
  found: FolderFiles;
}

/** @param above real paths of the folders on the way, the innermost last */
async function walk(path: string, above: readonly string[], tour: Walk): Promise<void> {
  const entries = (await readdir(path, { withFileTypes: true })).filter(({ name }) => !isNoise(name));
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const child = join(path, entry.name);
    const real = entry.isSymbolicLink()
      ? await follow(child, above, tour)
      : join(above.at(-1) as string, entry.name);
    if (real === null) continue;
    const kind = entry.isSymbolicLink() ? await stat(child) : entry;
    if (kind.isDirectory()) await walk(child, [...above, real], tour);
    else if (kind.isFile()) tour.found.files.push(child);
  }
}

/** Where a link leads; null where it is left out. */
async function follow(
  link: string,
  above: readonly string[],
  { root, folder, found }: Walk,
): Promise<string | null> {
  const real = await realpath(link).catch(() => null);
  const name = relative(folder, link);
  const leaveOut = (why: string) => {
    found.leftOut.push(`the link ${name} ${why}`);
    return null;
  };
  if (real === null) return leaveOut('leads nowhere');
  if (above.includes(real)) return leaveOut('leads back to a folder that it lies in');
  return real.startsWith(root + sep) ? real : leaveOut(`leads out of the folder, to ${real}`);
}
