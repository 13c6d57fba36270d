import { RawJson } from '../../machines/json/raw.ts';
import type { Prepared } from '../store/prepared.ts';
import type { Live } from '../supervisor/live.ts';
import { integer, joined, json, object, seconds, text } from './json-text.ts';
import { MARK, MOMENT, marksOf } from './waiting.ts';

/** What clients see of a task (contract, "Jobs"). @param waiting SQL of why it waits, as JSON text */
const taskOf = (waiting: string) =>
  object([
    ['id', text('t.id')],
    ['job_id', text('t.job_id')],
    ['status', text('t.status')],
    ['attempt', integer('t.attempt')],
    ['max_attempts', integer('t.max_attempts')],
    ['worker_id', text('t.worker_id')],
    [
      'lease_expires_at',
      `iif(t.status IN ('leased', 'running'), ${seconds('coalesce(lease.at, t.lease_expires_at)')}, 'null')`,
    ],
    ['requirements', 'need.document'],
    ['dataset_label', text('t.dataset_label')],
    ['pipeline_label', text('t.pipeline_label')],
    ['created_at', seconds('t.created_at')],
    ['updated_at', seconds('t.updated_at')],
    ['started_at', seconds('t.started_at')],
    ['not_before', seconds('t.not_before')],
    ['result', json('t.result')],
    ['error', text('t.error')],
    ['waiting_for', `iif(t.status = 'queued', ${waiting}, '[]')`],
  ]);

const NEEDS = `need (id, document, waiting) AS MATERIALIZED
    (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?)),
  lease (id, at) AS MATERIALIZED (SELECT key, value FROM json_each(?))`;
const JOINS = 'LEFT JOIN need ON need.id = t.requirement_id LEFT JOIN lease ON lease.id = t.id';

const LIST = `WITH ${NEEDS}
  SELECT ${joined(taskOf('need.waiting'), 't.seq')} AS text FROM tasks t ${JOINS} WHERE t.job_id = ?`;

/** The same where some tasks wait for more than their requirement. */
const MARKED_LIST = `WITH ${NEEDS}, ${MOMENT},
  marked (mark, waiting) AS MATERIALIZED (SELECT value ->> 0, value ->> 1 FROM json_each(?))
  SELECT ${joined(taskOf('coalesce(marked.waiting, need.waiting)'), 't.seq')} AS text
  FROM tasks t JOIN moment ${JOINS} LEFT JOIN marked ON t.status = 'queued' AND marked.mark = ${MARK}
  WHERE t.job_id = ?`;

/**
 * The tasks of a job in their order, as JSON; with what only memory knows: leases as they stand, and who is missing.
 * @returns null when there is no such job: every job has a task
 */
export async function listTasks(db: Prepared, live: Live, jobId: string): Promise<RawJson | null> {
  const asked = await db.all<{ id: number }[]>(
    'SELECT DISTINCT requirement_id AS id FROM tasks WHERE job_id = ?',
    jobId,
  );
  if (asked.length === 0) return null;
  const needs = asked.map(({ id }) => {
    const waiting = live.waitingFor({ requirement: id, avoids: [], paths: [], backoff: false });
    return [id, live.requirements(id), JSON.stringify(waiting)];
  });
  const { marks, moment } = await marksOf(db, live, jobId);
  const known = [JSON.stringify(needs), JSON.stringify(live.leases(jobId))];
  const row =
    marks.length === 0
      ? await db.get<{ text: string }>(LIST, ...known, jobId)
      : await db.get<{ text: string }>(MARKED_LIST, ...known, ...moment, JSON.stringify(marks), jobId);
  return new RawJson(`[${row?.text ?? ''}]`);
}
