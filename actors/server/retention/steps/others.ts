import { sql } from '../../store/sql.ts';
import { amongTexts, JOIN } from '../../store/sql-words.ts';
import { collapseEvents, IS_GAP, OLD_EVENT, type OldEvent } from '../collapse-events.ts';
import { GRACE } from '../settings.ts';
import type { Step } from '../work.ts';
import { UNNAMED, unnamedObjects } from './clear-deletions.ts';

/* What goes beside jobs. */

/** Rows of a slice. */
const AT_ONCE = 500;
/** Minutes of statistics that stay; nobody is shown more than an hour of them. */
const MINUTES = 1440;
const AMONG = sql`id ${amongTexts()}`;

/** Workers that have been gone for long. One that comes back registers, as it does at a server that was restored. */
export const forgetWorkers: Step = async function* ({ settings, store, time, alone, progress }) {
  if (settings.forgetWorkers === 0) return;
  const before = time.believed - settings.forgetWorkers;
  const gone = `SELECT id, name FROM workers WHERE status = 'dead' AND slots_used = 0 AND drained IS NULL AND last_seen_at < ? LIMIT ${AT_ONCE}`;
  for (let found = await store.queries.all<unknown[]>(gone, before); found.length > 0; ) {
    await alone(async (turn) => {
      const rows = await store.reader.all<{ id: string; name: string | null }[]>(gone, before);
      // One that is in memory is not all gone: there is something that it has to be told.
      const workers = rows.filter(({ id }) => !turn.core.directory.workers.has(id));
      found = workers.length < AT_ONCE ? [] : workers;
      if (workers.length === 0) return;
      for (const { id, name } of workers) {
        turn.counts.move('workers', 'dead', null);
        const message = `worker ${name ? `${name} (${id})` : id} was forgotten: it has been gone for long`;
        turn.event({ worker_id: id }, { level: 'info', type: 'worker_forgotten', message, data: {} });
      }
      const ids = JSON.stringify(workers.map(({ id }) => id));
      turn.further.push({ sql: sql`DELETE FROM workers WHERE ${AMONG}`, params: [ids] });
      turn.afterCommit(() => progress.deleted({ workers: workers.length }));
    });
    yield;
  }
};

export const dropMinutes: Step = async function* ({ store, time, alone }) {
  const before = Math.floor(time.believed / 60) - MINUTES;
  // The last one says how long the queue was since.
  const old = 'FROM stats_minutes WHERE minute < ? AND minute < (SELECT max(minute) FROM stats_minutes)';
  for (;;) {
    const found = await store.queries.get<{ minute: number }>(`SELECT minute ${old} LIMIT 1`, before);
    if (!found) return;
    await alone(async (turn) => {
      const some = `(SELECT minute ${old} ORDER BY minute LIMIT ${AT_ONCE})`;
      turn.further.push({ sql: `DELETE FROM stats_minutes WHERE minute IN ${some}`, params: [before] });
    });
    yield;
  }
};

/** Events that belong to no job that is there: of workers, of the server, and that jobs were deleted. */
export const expireLooseEvents: Step = async function* ({ settings, time, alone, progress }) {
  if (settings.keepEvents === 0) return;
  const before = time.believed - settings.keepEvents;
  for (let more = true; more; ) {
    await alone(async (turn) => {
      const oldest = await turn.core.store.reader.all<OldEvent[]>(
        sql`SELECT ${OLD_EVENT} FROM events e
         WHERE (e.job_id IS NULL OR (e.type = 'job_deleted' AND e.task_id IS NULL))
           AND NOT ${IS_GAP} ORDER BY e.id LIMIT ${AT_ONCE}`,
      );
      const end = oldest.findIndex(({ ts }) => ts >= before);
      const old = end === -1 ? oldest : oldest.slice(0, end);
      more = old.length === AT_ONCE;
      if (old.length > 0) await collapseEvents(turn, new Map([[null, old]]));
      turn.afterCommit(() => progress.deleted({ events: old.length }));
    });
    yield;
  }
};

/** Uploads that no job has ever named. */
export const expireUploads: Step = async function* ({ settings, store, time, alone, progress }) {
  if (settings.keepArtifacts === 0) return;
  const before = time.believed - settings.keepArtifacts;
  const never = `task_id IS NULL AND orphaned_at IS NULL AND ${UNNAMED}`;
  for (let from = 0, full = true; full; ) {
    const page = await store.queries.all<{ id: string; created_at: number; never: number }[]>(
      `SELECT id, created_at, ${never} AS never FROM artifacts
       WHERE task_id IS NULL AND created_at < ? AND created_at >= ? ORDER BY created_at LIMIT ${AT_ONCE}`,
      ...[before, from],
    );
    const last = page.at(-1)?.created_at ?? from;
    full = page.length === AT_ONCE && last > from;
    from = last;
    const ids = JSON.stringify(page.filter((row) => row.never === 1).map(({ id }) => id));
    if (ids !== '[]')
      await alone(async (turn) => {
        turn.further.push(
          { sql: unnamedObjects(sql`${AMONG} AND ${never}`), params: [turn.now, ids] },
          { sql: sql`DELETE FROM artifacts WHERE ${AMONG} AND ${never}`, params: [ids] },
        );
        turn.afterCommit(() => progress.deleted({ artifacts: JSON.parse(ids).length }));
      });
    yield;
  }
};

/** Inputs of jobs that were deleted, a day later, unless another job names them or their own task is still there. */
export const expireOrphans: Step = async function* ({ store, time, alone, progress }) {
  const before = time.believed - GRACE;
  for (;;) {
    const found = await store.queries.all<{ id: string }[]>(
      `SELECT id FROM artifacts WHERE orphaned_at IS NOT NULL AND orphaned_at < ? LIMIT ${AT_ONCE}`,
      before,
    );
    if (found.length === 0) return;
    const ids = JSON.stringify(found.map(({ id }) => id));
    await alone(async (turn) => {
      const owned = 'EXISTS (SELECT 1 FROM tasks t WHERE t.id = artifacts.task_id)';
      const left = await store.reader.all<{ id: string }[]>(
        sql`SELECT id FROM artifacts WHERE ${AMONG} AND ${UNNAMED} AND NOT ${owned}`,
        ids,
      );
      const going = JSON.stringify(left.map(({ id }) => id));
      turn.further.push(
        // Its own job may have shed the others long ago: it is looked at again.
        {
          sql: sql`DELETE FROM shed WHERE what = 'artifacts' AND job_id IN
            (SELECT t.job_id FROM artifacts a ${JOIN} tasks t ON t.id = a.task_id WHERE a.${AMONG})`,
          params: [ids],
        },
        { sql: unnamedObjects(AMONG), params: [turn.now, going] },
        { sql: sql`DELETE FROM artifacts WHERE ${AMONG}`, params: [going] },
        { sql: sql`UPDATE artifacts SET orphaned_at = NULL WHERE ${AMONG}`, params: [ids] },
      );
      turn.afterCommit(() => progress.deleted({ artifacts: left.length }));
    });
    yield;
  }
};
