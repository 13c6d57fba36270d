import { readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { StartError } from '../../../machines/protocol/start-error.ts';
import { type Clock, systemClock } from '../../shared/clock.ts';
import { acquireLock } from '../../shared/lock.ts';
import { syncFolder } from '../blobs/durable.ts';
import { objectHome } from '../blobs/home.ts';
import { hasNoRoom } from '../blobs/no-room.ts';
import { takeOver } from '../blobs/s3/open-home.ts';
import { openStore } from '../check/open-store.ts';
import type { Progress } from '../check/pages.ts';
import { unpack } from './archive.ts';
import { ABOUT, aboutBackup, backupsIn } from './folder.ts';
import type { BackupReport } from './report.ts';
import { assertStore, STORE, saveObjects, saveStore } from './save.ts';
import { beginTimeline } from './timeline.ts';

export interface RestoreOptions {
  /** A backup, a folder of backups (of which the newest is taken), a copy of a state directory, or an archive. */
  from: string | Readable;
  /** Not there yet, or empty. */
  state: string;
  /** Whether objects in a bucket belong to the restored store from now on, and no longer to that which was saved. */
  takesObjects?: boolean;
  clock?: Clock;
  onProgress?: Progress;
}

/** What was restored, and from where. */
export interface Restored extends BackupReport {
  from: string;
}

const LOCK = 'lock.sqlite';

/**
 * Makes a state directory of a backup. It is made beside where it will be, verified, and begins a new timeline before it
 * has its name.
 * @throws StartError in words that say what to do
 */
export async function restore(options: RestoreOptions): Promise<Restored> {
  const { from, state, takesObjects = false, clock = systemClock, onProgress = () => {} } = options;
  const target = resolve(state);
  await assertEmpty(target, state);
  const source = typeof from === 'string' ? await backupAt(from) : from;
  const began = clock.monotonic();
  const stage = join(dirname(target), `${basename(target)}.restoring`);
  // Another restore to the same place is kept away.
  const lock = await acquireLock(join(stage, LOCK)).catch((error: unknown) => {
    if (!(error instanceof StartError) || error.code !== 'state_in_use') throw error;
    throw new StartError('restore_refused', `another restore to ${state} is under way`);
  });
  try {
    const { made_at, ...saved } = await bring(source, stage, onProgress);
    await beginTimeline(join(stage, STORE), clock, { made_at });
    if (takesObjects) await takeObjects(stage);
    await rm(join(stage, ABOUT), { force: true });
    await syncFolder(stage);
    // Windows moves no folder with an open file in it.
    await lock.release();
    await takePlace(stage, target, state);
    const shown = typeof source === 'string' ? source : 'the archive';
    return { ...saved, made_at, seconds: clock.monotonic() - began, from: shown };
  } catch (error) {
    // Of an archive that breaks off, files may still be on their way into a folder that is being removed.
    await rm(stage, { recursive: true, force: true, maxRetries: 10 });
    if (!hasNoRoom(error)) throw error;
    throw new StartError('restore_refused', `there is no room for it beside ${state}; free some there`);
  } finally {
    await lock.release();
  }
}

async function assertEmpty(target: string, shown: string): Promise<void> {
  const names = await readdir(target).catch((fault: NodeJS.ErrnoException) => {
    if (fault.code === 'ENOENT') return [];
    throw fault;
  });
  if (names.length === 0) return;
  throw new StartError(
    'restore_refused',
    `${shown} is not empty; restore into a new directory, and move that one away if it is to take its place`,
  );
}

/** What a path names: a backup, or the newest one in a folder of them. */
async function backupAt(path: string): Promise<string> {
  const source = (await backupsIn(path)).at(-1) ?? path;
  await assertStore(source, '--from');
  return source;
}

async function bring(
  source: string | Readable,
  stage: string,
  onProgress: Progress,
): Promise<Omit<BackupReport, 'seconds'>> {
  const isArchive = typeof source !== 'string';
  if (isArchive) {
    onProgress('unpacking the archive');
    await rm(join(stage, ABOUT), { force: true });
    await unpack(source, stage);
    await assertStore(stage, '--from');
  } else await saveStore(source, stage, onProgress);
  const about = await aboutBackup(isArchive ? stage : source);
  // It comes last: without it some of the objects may not have come either.
  if (isArchive && about === null)
    throw new StartError('restore_refused', 'the archive breaks off before its end');
  const shown = isArchive ? 'the archive' : source;
  const saved = await saveObjects({
    directory: stage,
    sources: isArchive ? [] : [{ folder: source, links: false }],
    damaged: (what) =>
      new StartError('restore_refused', `the store in ${shown} is damaged (${what}); take another backup`),
    onProgress,
  });
  return { ...saved, made_at: about?.made_at ?? null };
}

async function takeObjects(stage: string): Promise<void> {
  const db = await openStore(join(stage, STORE), false);
  const home = await objectHome(db).finally(() => db.close());
  if (home) await takeOver(home);
}

/** An empty directory in the place makes way; one that a file system is mounted on cannot. */
async function takePlace(stage: string, target: string, shown: string): Promise<void> {
  try {
    await rename(stage, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EBUSY' && code !== 'EXDEV') throw error;
    throw new StartError(
      'restore_refused',
      `${shown} is where a file system begins and cannot be replaced; name a directory below it`,
    );
  }
  await syncFolder(dirname(target));
}
