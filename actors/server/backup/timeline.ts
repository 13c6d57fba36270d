import { randomUUID } from 'node:crypto';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { HELD_STATUSES } from '../../../machines/schema/statuses.ts';
import type { Clock } from '../../shared/clock.ts';
import { idMaker } from '../../shared/ids.ts';
import { sqlWords } from '../store/sql-words.ts';

/** What of a restored store is said in the event that it begins with. */
interface Origin {
  /** The moment that the store shows, seconds since the epoch; null where nobody knows. */
  made_at: number | null;
}

/** The event that a timeline begins with. */
const FIRST = { type: 'server_restored', level: 'warning' } as const;
const NEW_IDS = '(SELECT key, value FROM json_each(?)) AS new';

/**
 * A restored store goes on as another one than that from which it was saved (docs/decisions/0022-backups.md):
 *
 * - Its workers have other ids, which nobody knows. So no worker that registered before can report anything, and what
 *   they held is queued again once its lease expires, which costs no attempt.
 * - It has another id where its objects lie in a bucket, which still belongs to the store that it was saved from.
 * - Nobody is notified of what ended before the moment that it shows: that was done by who was there.
 * - Its events go on at the present time in microseconds, far behind all that were ever given, and the first of them
 *   says so, and how many numbers were never given before it.
 */
export async function beginTimeline(path: string, clock: Clock, { made_at }: Origin): Promise<void> {
  const db = await open({ filename: path, driver: sqlite3.Database, mode: sqlite3.OPEN_READWRITE });
  try {
    const makeId = idMaker(clock);
    const now = clock.now();
    const workers = await db.all<{ id: string }[]>('SELECT id FROM workers');
    const newIds = JSON.stringify(Object.fromEntries(workers.map(({ id }) => [id, makeId('worker')])));
    await db.exec('PRAGMA synchronous = FULL; BEGIN IMMEDIATE');
    await db.run(
      `UPDATE tasks SET worker_id = new.value, max_attempts = max_attempts + 1 FROM ${NEW_IDS}
       WHERE status IN (${sqlWords(HELD_STATUSES)}) AND worker_id = new.key`,
      newIds,
    );
    await db.run(`UPDATE workers SET id = new.value FROM ${NEW_IDS} WHERE id = new.key`, newIds);
    // A store of a version before 23 has none.
    if (await db.get("SELECT 1 FROM sqlite_master WHERE name = 'notifications'"))
      await db.run('DELETE FROM notifications');
    // Another store, whose the objects in a bucket are only once somebody says so.
    if (await db.get("SELECT 1 FROM sqlite_master WHERE name = 'object_home'"))
      await db.run('UPDATE object_home SET id = ?', randomUUID());
    await db.run(
      `INSERT INTO events (id, ts, level, type, message, data)
       SELECT first, ?, ?, ?, ?, json_object('made_at', ?, 'skipped', ifnull(first - last - 1, 0))
       FROM (SELECT last, CAST(max(?, ifnull(last, 0) + 1) AS INTEGER) AS first FROM (SELECT max(id) AS last FROM events))`,
      now,
      FIRST.level,
      FIRST.type,
      made_at === null
        ? 'the server was restored from a copy; what happened after that was made is not known here'
        : `the server was restored from a backup of ${new Date(made_at * 1000).toISOString()}; what happened after that is not known here`,
      made_at,
      Math.round(now * 1e6),
    );
    await db.exec('COMMIT');
  } finally {
    await db.close();
  }
}
