import { mayRemoveObjects } from '../../blobs/reading-lock.ts';
import { GRACE } from '../settings.ts';
import type { Step } from '../work.ts';

/** Objects of a slice. */
const AT_ONCE = 50;

/**
 * Removes the bytes of artifacts that are gone, a day after; later still while a backup copies objects. A row says which
 * ones until they are gone from the disk, and what an artifact names again stays: so the two never disagree.
 */
export const removeObjects: Step = async function* ({ stateDir, store, blobs, time, alone, progress, log }) {
  const before = time.believed - GRACE;
  for (;;) {
    const found = await store.queries.all<{ sha256: string }[]>(
      `SELECT sha256 FROM unnamed_objects WHERE since < ? ORDER BY since LIMIT ${AT_ONCE}`,
      before,
    );
    if (found.length === 0) return;
    const lock = await mayRemoveObjects(stateDir);
    if (lock === null) {
      log.info('objects that nothing names any more stay for now: a backup is being made');
      return;
    }
    const hashes = found.map(({ sha256 }) => sha256);
    let removed: { objects: number; bytes: number };
    try {
      removed = await blobs.remove(hashes);
    } finally {
      await lock.release();
    }
    await alone(async (turn) => {
      turn.further.push({
        sql: 'DELETE FROM unnamed_objects WHERE sha256 IN (SELECT value FROM json_each(?)) AND since < ?',
        params: [JSON.stringify(hashes), before],
      });
    });
    progress.deleted({ objects: removed.objects });
    progress.freedBytes += removed.bytes;
    yield;
  }
};
