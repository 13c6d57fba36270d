import { constants } from 'node:fs';
import { chmod, copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { membersOf } from './members.ts';

/** At the same time: the system's files have few threads. */
const AT_ONCE = 8;

/**
 * Copies a file, or a folder with all in it, so that whoever writes to the copy changes nothing of the original. Where
 * the file system shares blocks until they are written to (Btrfs, XFS, APFS), a copy costs next to nothing.
 * @throws the system's error
 */
export async function copyOf(path: string, target: string, signal: AbortSignal): Promise<void> {
  const files: [from: string, to: string][] = [];
  for (const { name, path: from, stats } of await membersOf(path)) {
    // A folder comes before what is in it.
    if (stats.isDirectory()) await mkdir(join(target, name), { recursive: true });
    else files.push([from, join(target, name)]);
  }
  for (let at = 0; at < files.length; at += AT_ONCE) {
    signal.throwIfAborted();
    await settled(files.slice(at, at + AT_ONCE).map(([from, to]) => copyWritable(from, to)));
  }
}

async function copyWritable(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  // With the bytes came the mode, by which the original is read only.
  await chmod(to, 0o600);
}

/** All, or the first fault once none is under way any more. */
async function settled(steps: Promise<void>[]): Promise<void> {
  const fault = (await Promise.allSettled(steps)).find((result) => result.status === 'rejected');
  if (fault) throw (fault as PromiseRejectedResult).reason;
}
