import { HELD_STATUSES, TASK_STATUSES } from '../../../machines/schema/statuses.ts';
import { OLD_EVENT } from '../retention/collapse-events.ts';
import { differing, type Queries, type Sql, type SqlText, sql } from '../store/sql.ts';
import { eachMember, ownMember, sqlWords } from '../store/sql-words.ts';
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
   WHERE j.num_${status} <> coalesce(t.n, 0)`;

const tallied = (table: string): Sql =>
  sql`SELECT kept.key AS id FROM tally CROSS JOIN ${differing('', 'LATERAL ')}${eachMember(`tally.${table}`, 'bigint', 'kept')}
   WHERE kept.value <> (SELECT count(*) FROM ${table} WHERE status = kept.key)`;

/** Whether something may be deleted, as in all but early stores. */
const DELETES = differing("SELECT 1 FROM sqlite_master WHERE name = 'deletions'", 'SELECT 1');

type Relation = readonly [what: string, sql: SqlText];

/** Jobs that are deleted, of which tasks or events are still there. */
const LEAVING = 'NOT IN (SELECT job_id FROM deletions)';
/** An artifact of which no bytes are left. */
const EXPIRED = 'NOT IN (SELECT id FROM expired_artifacts)';

/**
 * What must hold between rows, since every commit leaves it so: the rows for which it does not.
 * @param deletes whether the store is of a version in which something may be deleted
 */
const relations = (deletes: boolean): Relation[] => [
  [
    'tasks of a job that is not there',
    orphans('tasks', 'job_id', 'jobs', 'id') + (deletes ? ` AND job_id ${LEAVING}` : ''),
  ],
  ['specifications of a job that is not there', orphans('job_requests', 'job_id', 'jobs', 'id', 'job_id')],
  ['jobs without their specification', orphans('jobs', 'id', 'job_requests', 'job_id')],
  ['tasks whose requirements are not there', orphans('tasks', 'requirement_id', 'requirements', 'id')],
  ['uploads of a task that is not there', orphans('task_artifacts', 'task_id', 'tasks', 'id', 'task_id')],
  [
    'uploads whose artifact is not there',
    orphans('task_artifacts', 'artifact_id', 'artifacts', 'id', 'artifact_id') +
      (deletes ? ` AND artifact_id ${EXPIRED}` : ''),
  ],
  ['jobs whose best task is not there', orphans('jobs', 'best_task_id', 'tasks', 'id')],
  [
    'jobs whose best model is not there',
    orphans('jobs', 'best_model_artifact_id', 'artifacts', 'id') +
      (deletes ? ` AND best_model_artifact_id ${EXPIRED}` : ''),
  ],
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
  ['gaps between events', deletes ? uncountedEvents() : gapsBetweenEvents()],
  ...(deletes ? DELETING : []),
];

/** What else must hold where something may be deleted. */
const DELETING: readonly Relation[] = [
  ['inputs of a job that is not there', orphans('job_inputs', 'job_id', 'jobs', 'id', 'job_id')],
  ['inputs whose artifact is not there', orphans('job_inputs', 'artifact_id', 'artifacts', 'id', 'job_id')],
  [
    'results of a task that is not there',
    sql`SELECT id FROM tasks WHERE reused_from IS NOT NULL AND job_id ${LEAVING}
     AND ${ownMember('reused_from', 'task_id')} NOT IN (SELECT id FROM tasks)`,
  ],
  ['what was shed of a job that is not there', orphans('shed', 'job_id', 'jobs', 'id', 'job_id')],
  ['jobs that are deleted and there', 'SELECT id FROM jobs WHERE id IN (SELECT job_id FROM deletions)'],
];

/** Each number was given to an event that is there, or that a row counts which stands for deleted ones. */
function uncountedEvents(): Sql {
  return sql`SELECT min(id) AS id FROM (SELECT ${OLD_EVENT} FROM events e) AS old
          HAVING coalesce(max(id) - min(first) + 1, 0) <> coalesce(sum(count + skipped), 0)`;
}

/** Only a restored store begins its numbers anew, behind all that were ever given. */
function gapsBetweenEvents(): string {
  const before = 'SELECT max(id) FROM events AS earlier WHERE earlier.id < restored.id';
  return `SELECT min(id) AS id FROM events HAVING coalesce(max(id) - min(id) + 1, 0) <> count(*) + coalesce(
            (SELECT sum(id - 1 - coalesce((${before}), id - 1)) FROM events AS restored
             WHERE type = 'server_restored'), 0)`;
}

function tasksPerJob(): string {
  return `SELECT j.id AS id FROM jobs j LEFT JOIN
            (SELECT job_id, count(*) AS n FROM tasks GROUP BY job_id) t ON t.job_id = j.id
          WHERE j.num_tasks <> coalesce(t.n, 0)`;
}

/** Compares the rows of a store with each other. What an older store does not have is left out. */
export async function checkRows(db: Queries, onProgress: Progress = () => {}): Promise<RowMismatch[]> {
  onProgress('the rows of the store');
  const faults: RowMismatch[] = [];
  const deletes = await db.get(DELETES);
  for (const [what, relation] of relations(deletes !== undefined)) {
    const found = await db
      .get<{ n: number; example: string }>(
        sql`SELECT count(*) AS n, min(id) AS example FROM (${relation}) AS others`,
      )
      .catch((error: Error) => {
        if (/no such (table|column)/.test(error.message)) return undefined;
        throw error;
      });
    if (found && found.n > 0) faults.push({ what, rows: found.n, example: `${found.example}` });
  }
  return faults;
}
