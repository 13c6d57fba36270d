import { HELD_STATUSES, TASK_STATUSES } from '../../../machines/schema/statuses.ts';
import type { Connection } from '../store/open.ts';
import { sqlWords } from '../store/sql-words.ts';
import type { Progress } from './pages.ts';

/** Rows that do not fit together. */
export interface RowMismatch {
  what: string;
  rows: number;
  /** Of one of them. */
  example: string;
}

const orphans = (table: string, column: string, of: string, key: string, id = 'id'): string =>
  `SELECT ${id} AS id FROM ${table} WHERE ${column} IS NOT NULL
   AND ${column} NOT IN (SELECT ${key} FROM ${of})`;

const counted = (status: string): string =>
  `SELECT j.id AS id FROM jobs j LEFT JOIN
     (SELECT job_id, count(*) AS n FROM tasks WHERE status = '${status}' GROUP BY job_id) t ON t.job_id = j.id
   WHERE j.num_${status} <> ifnull(t.n, 0)`;

const tallied = (table: string): string =>
  `SELECT kept.key AS id FROM tally, json_each(tally.${table}) AS kept
   WHERE kept.value <> (SELECT count(*) FROM ${table} WHERE status = kept.key)`;

/** What must hold between rows, since every commit leaves it so: the rows for which it does not. */
const RELATIONS: readonly (readonly [what: string, sql: string])[] = [
  ['tasks of a job that is not there', orphans('tasks', 'job_id', 'jobs', 'id')],
  ['specifications of a job that is not there', orphans('job_requests', 'job_id', 'jobs', 'id', 'job_id')],
  ['jobs without their specification', orphans('jobs', 'id', 'job_requests', 'job_id')],
  ['tasks whose requirements are not there', orphans('tasks', 'requirement_id', 'requirements', 'id')],
  ['uploads of a task that is not there', orphans('task_artifacts', 'task_id', 'tasks', 'id', 'task_id')],
  [
    'uploads whose artifact is not there',
    orphans('task_artifacts', 'artifact_id', 'artifacts', 'id', 'artifact_id'),
  ],
  ['jobs whose best task is not there', orphans('jobs', 'best_task_id', 'tasks', 'id')],
  ['jobs whose best model is not there', orphans('jobs', 'best_model_artifact_id', 'artifacts', 'id')],
  [
    'tasks held by a worker that is not there',
    `${orphans('tasks', 'worker_id', 'workers', 'id')} AND status IN (${sqlWords(HELD_STATUSES)})`,
  ],
  ['jobs with another number of tasks than they count', tasksPerJob()],
  ...TASK_STATUSES.map(
    (status) => [`jobs that count their ${status} tasks wrongly`, counted(status)] as const,
  ),
  ...['jobs', 'tasks', 'workers'].map(
    (table) => [`statuses of ${table} that are counted wrongly`, tallied(table)] as const,
  ),
  ['gaps between events', gapsBetweenEvents()],
];

/** Only a restored store begins its numbers anew, behind all that were ever given. */
function gapsBetweenEvents(): string {
  const before = 'SELECT max(id) FROM events AS earlier WHERE earlier.id < restored.id';
  return `SELECT min(id) AS id FROM events HAVING ifnull(max(id) - min(id) + 1, 0) <> count(*) + ifnull(
            (SELECT sum(id - 1 - ifnull((${before}), id - 1)) FROM events AS restored
             WHERE type = 'server_restored'), 0)`;
}

function tasksPerJob(): string {
  return `SELECT j.id AS id FROM jobs j LEFT JOIN
            (SELECT job_id, count(*) AS n FROM tasks GROUP BY job_id) t ON t.job_id = j.id
          WHERE j.num_tasks <> ifnull(t.n, 0)`;
}

/** Compares the rows of a store with each other. What an older store does not have is left out. */
export async function checkRows(db: Connection, onProgress: Progress = () => {}): Promise<RowMismatch[]> {
  onProgress('the rows of the store');
  const faults: RowMismatch[] = [];
  for (const [what, sql] of RELATIONS) {
    const found = await db
      .get<{ n: number; example: string }>(`SELECT count(*) AS n, min(id) AS example FROM (${sql})`)
      .catch((error: Error) => {
        if (/no such (table|column)/.test(error.message)) return undefined;
        throw error;
      });
    if (found && found.n > 0) faults.push({ what, rows: found.n, example: `${found.example}` });
  }
  return faults;
}
