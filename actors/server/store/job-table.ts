import { keepSeconds } from '../../../machines/job/keep.ts';
import type { RunTimes } from '../../../machines/job/run-times.ts';
import type { Selection } from '../../../machines/job/selection.ts';
import type { TaskCounts } from '../../../machines/job/types.ts';
import type { Right } from '../../../machines/protocol/rights.ts';
import type { Standing } from '../../../machines/ranking/standing.ts';
import { TASK_STATUSES } from '../../../machines/schema/statuses.ts';
import type { JobStatus } from '../../../machines/schema/views.ts';
import type { Reuse } from '../../../machines/submission/job-digest.ts';
import {
  type DerivedColumn,
  flag,
  integer,
  json,
  list,
  type RowOf,
  real,
  type SqlValue,
  table,
  text,
  word,
} from './columns.ts';

const JOB_COLUMNS = {
  seq: integer,
  id: text.fixed,
  type: text.fixed,
  name: text.orNull.fixed,
  note: text.orNull.fixed.rare,
  tags: list<readonly string[]>().fixed.rare,
  status: word<JobStatus>(),
  /** The state below the status (`ready`, `telling`), if there is one. */
  state: text.orNull,
  priority: integer.fixed,
  moved: flag.orNull.fixed.rare, // It was given another priority: rows of its tasks may have the earlier.
  created_at: real.fixed,
  updated_at: real,
  /** How long it stays after its end, as its owner wishes. */
  keep: text.orNull.rare,
  owner: text.fixed,
  granted_rights: json<readonly Right[]>().fixed,
  warnings: json<string[]>().fixed,
  error: text.orNull.rare,
  idempotency_key: text.orNull.fixed,
  /** The metric that it ranks by at present, one of those of `standings`, and whether its largest value is best. */
  rank_metric: text,
  rank_mode: word<'min' | 'max'>(),
  /** `retry.max_attempts` of the specification: how many attempts a manual retry adds. */
  retry_attempts: integer.fixed,
  /** Whether a pipeline of the job names the fingerprint that it expects. */
  pins_fingerprint: flag.fixed,
  /** Whether a pipeline of the job is a graph of steps. */
  is_dag: flag.fixed,
  /** What the specification means, hashed; null without an idempotency key, and in stores of earlier versions. */
  meaning: text.orNull.fixed,
  /** Whose results its tasks may be answered with. */
  reuse: word<Reuse>().orNull.fixed.rare,
  num_tasks: integer,
  best_metric: real.orNull,
  best_task_id: text.orNull,
  best_model_artifact_id: text.orNull.rare,
  /** Of those that succeeded, how many have the result of another task. */
  num_reused: integer,
  /** Of a job that selects the best of its variants. */
  selection: json<Selection>().orNull.rare,
  /** Where in the queue its next task will stand, of the numbers that are kept for it, and the last of those. */
  next_seq: integer.orNull.rare,
  last_seq: integer.orNull.fixed.rare,
  run_times: json<RunTimes>().orNull,
  /** The job of which it is a repeated or changed submission. */
  resubmitted_from: text.orNull.fixed.rare,
};

export type JobRow = RowOf<typeof JOB_COLUMNS> & {
  counts: TaskCounts;
  /** By each of the metrics that it may rank by. */
  standings: readonly Standing[];
};

const counted = Object.fromEntries(
  TASK_STATUSES.map((status): [string, DerivedColumn<JobRow>] => [
    `num_${status}`,
    { type: 'INTEGER', isNullable: false, isFixed: false, of: (row) => row.counts[status] },
  ]),
);

type CellOf = (column: string) => SqlValue;

const COUNTED = TASK_STATUSES.map((status) => [status, `num_${status}`] as const);

function countsOf(cellOf: CellOf): TaskCounts {
  const counts: Record<string, SqlValue> = {};
  for (const [status, column] of COUNTED) counts[status] = cellOf(column);
  return counts as TaskCounts;
}

export const JOBS = table<typeof JOB_COLUMNS, Pick<JobRow, 'counts' | 'standings'>>(
  'jobs',
  ['seq'],
  JOB_COLUMNS,
  {
    /** For the search in the list of jobs. */
    name_folded: {
      type: 'TEXT',
      isNullable: true,
      isFixed: true,
      of: ({ name }) => name?.toLowerCase() ?? null,
    },
    ...counted,
    keep_seconds: {
      type: 'REAL',
      isNullable: true,
      isFixed: false,
      isRare: true,
      of: ({ keep }) => keepSeconds(keep),
    },
    standings: {
      type: 'TEXT',
      isNullable: true,
      isFixed: false,
      isRare: true,
      of: (row) => (isToldByRow(row) ? null : JSON.stringify(row.standings)),
    },
  },
  (cellOf) => {
    const standings = cellOf('standings');
    return {
      counts: countsOf(cellOf),
      standings: typeof standings === 'string' ? JSON.parse(standings) : [onlyStanding(cellOf)],
    };
  },
);

/** The only standing of a job, as the other columns tell it: of most jobs, and of all in stores of earlier versions. */
const onlyStanding = (cellOf: CellOf): Standing =>
  ({
    metric: cellOf('rank_metric'),
    mode: cellOf('rank_mode'),
    reported: cellOf('best_task_id') === null ? 0 : cellOf('num_succeeded'),
    best_metric: cellOf('best_metric'),
    best_task_id: cellOf('best_task_id'),
    best_model_artifact_id: cellOf('best_model_artifact_id'),
  }) as Standing;

/** Whether the standings need no text of their own: all succeeded tasks reported the only metric. */
const isToldByRow = (row: JobRow): boolean => {
  const [only] = row.standings;
  return (
    only !== undefined &&
    row.standings.length === 1 &&
    only.reported === (row.best_task_id === null ? 0 : row.counts.succeeded) &&
    only.metric === row.rank_metric &&
    only.best_metric === row.best_metric &&
    only.best_task_id === row.best_task_id &&
    only.best_model_artifact_id === row.best_model_artifact_id
  );
};
