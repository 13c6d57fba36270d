import { mayRemoveObjects } from '../../blobs/reading-lock.ts';
import { sql } from '../../store/sql.ts';
import { amongTexts } from '../../store/sql-words.ts';
import type { Step } from '../work.ts';

/** Seconds between two looks, for which everything is listed. */
const EVERY = 86_400;

/**
 * Removes the bytes that uploads left when an earlier server died before their artifacts were recorded, where nothing
 * but their age tells them from others: once after the start, and daily.
 */
export const removeLeftovers: Step = async function* ({ stateDir, store, blobs, clock, progress }) {
  const { leftoversAt } = progress;
  if (leftoversAt !== null && clock.monotonic() - leftoversAt < EVERY) return;
  for await (const hashes of blobs.leftovers()) {
    const list = JSON.stringify(hashes);
    const known = await store.queries.all<{ sha256: string }[]>(
      sql`SELECT sha256 FROM artifacts WHERE sha256 ${amongTexts('?1')}
          UNION SELECT sha256 FROM unnamed_objects WHERE sha256 ${amongTexts('?1')}`,
      list,
    );
    const stays = new Set(known.map(({ sha256 }) => sha256));
    const left = hashes.filter((sha256) => !stays.has(sha256));
    const lock = left.length === 0 ? null : await mayRemoveObjects(stateDir);
    if (lock !== null) {
      const removed = await blobs.remove(left).finally(lock.release);
      progress.deleted({ objects: removed.objects });
      progress.freedBytes += removed.bytes;
    }
    yield;
  }
  progress.leftoversAt = clock.monotonic();
};
