import { differing, type Sql, type SqlText, sql } from '../../store/sql.ts';
import { amongNumbers, amongTexts, each, JOIN, typed } from '../../store/sql-words.ts';
import type { Turn } from '../../turn/turn.ts';
import { collapseEvents, OLD_EVENT, type OldEvent } from '../collapse-events.ts';
import type { Step } from '../work.ts';

/** Rows of a slice. */
const TASKS = 100;
const EVENTS = 500;
/** SQL: jobs that are cleared together; those that are done leave, so that no slice passes over them again. */
const SOME = '(SELECT job_id FROM deletions ORDER BY job_id LIMIT 50)';

/** SQL: what tasks uploaded, by their ids as JSON. */
const UPLOADS = sql`SELECT u.artifact_id FROM ${each('?', 'text', 'k')} ${JOIN} task_artifacts u ON u.task_id = k.value`;
/** SQL: that no job names an artifact as its input. */
export const UNNAMED = 'NOT EXISTS (SELECT 1 FROM job_inputs i WHERE i.artifact_id = artifacts.id)';

/**
 * SQL: that the bytes of some artifacts may be named by none any more; in the place of `where` stands which. PostgreSQL
 * writes no row twice in one statement.
 */
export const unnamedObjects = (where: SqlText): Sql =>
  sql`INSERT INTO unnamed_objects (sha256, since) SELECT${differing('', ' DISTINCT')} sha256, ${typed('?', 'double precision')} FROM artifacts WHERE ${where}
   ON CONFLICT (sha256) DO UPDATE SET since = excluded.since`;

/** Deletes what is left of jobs that are gone: first their tasks with all that these have, then their events. */
export const clearDeletions: Step = async function* ({ store, alone, progress }) {
  while ((await store.queries.get('SELECT 1 FROM deletions LIMIT 1')) !== undefined) {
    await alone(async (turn) => {
      const tasks = await clearTasks(turn);
      const events = tasks > 0 ? 0 : await clearEvents(turn);
      turn.afterCommit(() => progress.deleted({ tasks, events }));
      if (tasks + events === 0)
        turn.further.push({ sql: `DELETE FROM deletions WHERE job_id IN ${SOME}`, params: [] });
    });
    yield;
  }
};

async function clearTasks(turn: Turn): Promise<number> {
  const { store, directory } = turn.core;
  const rows = await store.reader.all<{ seq: number; id: string; status: string }[]>(
    sql`SELECT t.seq, t.id, t.status FROM ${SOME} d ${JOIN} tasks t ON t.job_id = d.job_id LIMIT ${TASKS}`,
  );
  if (rows.length === 0) return 0;
  for (const { id, status } of rows) {
    const cell = directory.tasks.get(id);
    if (cell) directory.removeTask(cell);
    turn.counts.move('tasks', status, null);
  }
  const seqs = JSON.stringify(rows.map(({ seq }) => seq));
  const ids = JSON.stringify(rows.map(({ id }) => id));
  turn.further.push(
    { sql: unnamedObjects(sql`id IN (${UPLOADS}) AND ${UNNAMED}`), params: [turn.now, ids] },
    { sql: sql`DELETE FROM artifacts WHERE id IN (${UPLOADS}) AND ${UNNAMED}`, params: [ids] },
    { sql: sql`DELETE FROM expired_artifacts WHERE id IN (${UPLOADS})`, params: [ids] },
    { sql: sql`DELETE FROM task_artifacts WHERE task_id ${amongTexts()}`, params: [ids] },
    {
      sql: sql`DELETE FROM computed WHERE content_key IN (SELECT content_key FROM tasks WHERE seq ${amongNumbers()}) AND task_seq ${amongNumbers()}`,
      params: [seqs, seqs],
    },
    { sql: sql`DELETE FROM tasks WHERE seq ${amongNumbers()}`, params: [seqs] },
  );
  return rows.length;
}

/** All but that the job was deleted: that is an event of the server. */
async function clearEvents(turn: Turn): Promise<number> {
  const old = await turn.core.store.reader.all<OldEvent[]>(
    sql`SELECT ${OLD_EVENT} FROM ${SOME} d ${JOIN} events e ON e.job_id = d.job_id
     WHERE NOT (e.type = 'job_deleted' AND e.task_id IS NULL) LIMIT ${EVENTS}`,
  );
  if (old.length > 0) await collapseEvents(turn, new Map([[null, old]]));
  return old.length;
}
