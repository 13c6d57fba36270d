import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartError } from '../../../machines/protocol/start-error.ts';
import { type Clock, systemClock } from '../../shared/clock.ts';
import { hasNoRoom } from '../blobs/no-room.ts';
import { holdObjects } from '../blobs/reading-lock.ts';
import type { Progress } from '../check/pages.ts';
import { storeDamaged } from '../store/damage.ts';
import { ABOUT, BackupFolder } from './folder.ts';
import { syncFile } from './place-objects.ts';
import { type BackupReport, isWhole } from './report.ts';
import { assertStore, type Saved, saveObjects, saveStore } from './save.ts';

export interface BackupOptions {
  state: string;
  /** The folder in which backups are kept. */
  to: string;
  /** How many of them are kept; all where it is left out. */
  keep?: number | undefined;
  clock?: Clock;
  onProgress?: Progress;
}

/** A backup that has been made. */
export interface MadeBackup extends BackupReport {
  path: string;
}

/**
 * Makes a backup of a state directory, beside the server that uses it or without one: a state directory of its own, as
 * of one moment, in a folder with others. First the store, then the objects that it names, which nobody removes
 * meanwhile. It has its name only once all of it is verified and on the disk.
 * @throws StartError in words that say what to do
 */
export async function makeBackup(options: BackupOptions): Promise<MadeBackup> {
  const { state, to, keep, clock = systemClock, onProgress = () => {} } = options;
  await assertStore(state, '--state');
  const folder = await BackupFolder.open(to);
  try {
    const began = clock.monotonic();
    const made_at = clock.now();
    const held = await holdObjects(state);
    const saved = await save(state, folder, onProgress)
      .finally(held.release)
      .catch(async (fault) => {
        if (!hasNoRoom(fault)) throw fault;
        // Others may need the room, the server first of all where it is its own disk.
        await rm(folder.stage, { recursive: true, force: true });
        throw new StartError(
          'backup_unwritable',
          `there is no room for the backup in ${to}; free some there`,
        );
      });
    const report: BackupReport = { made_at, ...saved, seconds: clock.monotonic() - began };
    const about = join(folder.stage, ABOUT);
    await writeFile(about, `${JSON.stringify(report)}\n`);
    await syncFile(about);
    const path = await folder.finish(made_at);
    // What this one lacks, an older one may have.
    if (keep !== undefined && isWhole(report)) await folder.prune(keep);
    return { ...report, path };
  } finally {
    await folder.release();
  }
}

async function save(state: string, folder: BackupFolder, onProgress: Progress): Promise<Saved> {
  const directory = folder.stage;
  await saveStore(state, directory, onProgress);
  const before = await folder.newest();
  return saveObjects({
    directory,
    sources: [...(before === null ? [] : [{ folder: before, links: true }]), { folder: state, links: false }],
    damaged: (what) => storeDamaged(state, what),
    onProgress,
  });
}
