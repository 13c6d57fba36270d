import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '../../shared/clock.ts';
import { FolderObjects } from '../blobs/folder-objects.ts';
import { objectHome } from '../blobs/home.ts';
import { objectPath } from '../blobs/paths.ts';
import { holdObjects } from '../blobs/reading-lock.ts';
import { lostObject, namedObjects, sumOfObjects, whyLost } from '../check/objects.ts';
import type { Progress } from '../check/pages.ts';
import { checkRows } from '../check/rows.ts';
import { storeDamaged } from '../store/damage.ts';
import type { Queries } from '../store/sql.ts';
import { archiveOf, type Entry } from './archive.ts';
import { ABOUT } from './folder.ts';
import type { BackupReport } from './report.ts';
import { assertStore, describe, lookFor, STORE, saveStore, withWholeStore } from './save.ts';

/**
 * Makes a backup as one tar archive, for another program to take: store, objects, and last what is said of it. The copy
 * of the store lies in the system's folder for temporary files meanwhile, and each object is read twice, since what is
 * damaged must be known before its first byte leaves.
 * @throws StartError in words that say what to do
 */
export async function streamBackup(
  state: string,
  out: Writable,
  onProgress: Progress = () => {},
): Promise<BackupReport> {
  await assertStore(state, '--state');
  const directory = await mkdtemp(join(tmpdir(), 'jq-backup-'));
  const held = await holdObjects(state);
  try {
    const began = systemClock.monotonic();
    const made_at = systemClock.now();
    await saveStore(state, directory, onProgress);
    const damaged = (what: string) => storeDamaged(state, what);
    return await withWholeStore(directory, damaged, onProgress, async (db) => {
      const rows = await checkRows(db, (step) => onProgress(`checking ${step}`));
      const all = await sumOfObjects(db);
      const home = await objectHome(db);
      const objects = home
        ? { ...all, ...(await lookFor(db, home, () => {})) }
        : { ...all, linked: 0, copied: 0, copied_bytes: 0, lost: [] };
      const report: BackupReport = {
        made_at,
        ...(await describe(db, directory, rows, objects)),
        seconds: 0,
      };
      async function* entries(): AsyncGenerator<Entry> {
        yield { name: STORE, path: join(directory, STORE) };
        if (home === undefined)
          yield* wholeObjects(db, state, report.objects, (done) =>
            onProgress('checking and sending the objects', done, all.bytes),
          );
        report.seconds = systemClock.monotonic() - began;
        yield { name: ABOUT, text: `${JSON.stringify(report)}\n` };
      }
      await pipeline(Readable.from(archiveOf(entries())), out, { end: false });
      return report;
    });
  } finally {
    await held.release();
    await rm(directory, { recursive: true, force: true });
  }
}

/** The objects that a store names; those that are damaged are left out, and told. */
async function* wholeObjects(
  db: Queries,
  state: string,
  told: BackupReport['objects'],
  onBytes: (done: number) => void,
): AsyncGenerator<Entry> {
  const driver = new FolderObjects(state);
  let done = 0;
  for await (const page of namedObjects(db)) {
    for (const object of page) {
      const why = await whyLost(driver, object);
      done += object.size_bytes;
      onBytes(done);
      if (why !== null) {
        told.lost.push(lostObject(object, why));
        continue;
      }
      told.copied++;
      told.copied_bytes += object.size_bytes;
      const name = objectPath(object.sha256);
      yield { name, path: join(state, name) };
    }
  }
}
