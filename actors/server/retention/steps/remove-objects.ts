import type { Removed } from '../../blobs/blob-store.ts';
import { mayRemoveObjects } from '../../blobs/reading-lock.ts';
import { sql } from '../../store/sql.ts';
import { amongTexts } from '../../store/sql-words.ts';
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
  for (let from = { since: 0, sha256: '' }; ; ) {
    const found = await store.queries.all<{ since: number; sha256: string }[]>(
      `SELECT since, sha256 FROM unnamed_objects
       WHERE (since, sha256) > (?, ?) AND since < ? ORDER BY since, sha256 LIMIT ${AT_ONCE}`,
      ...[from.since, from.sha256, before],
    );
    const last = found.at(-1);
    if (last === undefined) return;
    from = last;
    const lock = await mayRemoveObjects(stateDir);
    if (lock === null) {
      log.info('objects that nothing names any more stay for now: a backup is being made');
      return;
    }
    const hashes = found.map(({ sha256 }) => sha256);
    let removed: Removed;
    try {
      removed = await blobs.remove(hashes);
    } finally {
      await lock.release();
    }
    const { claimed } = removed;
    // An upload that has the bytes may break off, after which nothing else knows of them: its row stays until then.
    const settled = hashes.filter((sha256) => !claimed.includes(sha256));
    await alone(async (turn) => {
      turn.further.push({
        sql: sql`DELETE FROM unnamed_objects WHERE sha256 ${amongTexts()} AND since < ?`,
        params: [JSON.stringify(settled), before],
      });
    });
    progress.deleted({ objects: removed.objects });
    progress.freedBytes += removed.bytes;
    yield;
  }
};
