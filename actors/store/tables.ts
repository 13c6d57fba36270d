import { RawJson } from '../../machines/json/raw.ts';
import type { Standing } from '../../machines/ranking/standing.ts';
import type {
  ArtifactRow,
  ChoiceRow,
  ComputedRow,
  EventRow,
  JobRow,
  MinuteRow,
  RequirementRow,
  TallyRow,
  TaskArtifactRow,
  TaskRow,
  VariantsRow,
  WorkerRow,
} from './rows.ts';

/** What SQLite stores in a column. */
export type Cell = string | number | null;
export type SqlRow = Record<string, Cell>;

/**
 * How a kind of row is written: its columns in order, what it is found by, and the conversion both ways.
 */
export interface Table<Row> {
  readonly name: string;
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** The columns that may change after the insert. */
  readonly changing: readonly string[];
  encode(row: Row): Cell[];
  /** The key, then what may have changed. */
  encodeChange(row: Row): Cell[];
  decode(row: SqlRow): Row;
}

const parse = <T>(cell: Cell | undefined): T => JSON.parse(cell as string) as T;

function define<Row>(
  name: string,
  key: string[],
  fixed: string[],
  columns: Record<string, (row: Row) => Cell>,
  decode: (row: SqlRow) => Row,
): Table<Row> {
  const all = Object.keys(columns);
  const changing = all.filter((column) => !key.includes(column) && !fixed.includes(column));
  const reading = (names: readonly string[]) => {
    const getters = names.map((column) => columns[column] as (row: Row) => Cell);
    return (row: Row) => {
      // Pushed, not mapped: V8 writes an array that may have holes as JSON by a slower path.
      const cells: Cell[] = [];
      for (const get of getters) cells.push(get(row));
      return cells;
    };
  };
  return {
    name,
    key,
    columns: all,
    changing,
    encode: reading(all),
    encodeChange: reading([...key, ...changing]),
    decode,
  };
}

/** A column whose value is stored as it is. */
const plain = <Row>(...names: (keyof Row & string)[]) =>
  Object.fromEntries(names.map((name) => [name, (row: Row) => row[name] as Cell]));

export const JOBS = define<JobRow>(
  'jobs',
  ['seq'],
  [
    'id',
    'type',
    'name',
    'name_folded',
    'priority',
    'created_at',
    'owner',
    'granted_rights',
    'warnings',
    'idempotency_key',
    'retry_attempts',
    'pins_fingerprint',
    'is_dag',
    'meaning',
    'reuse',
    'last_seq',
  ],
  {
    ...plain<JobRow>('seq', 'id', 'type', 'name'),
    name_folded: (row) => row.name?.toLowerCase() ?? null,
    ...plain<JobRow>('status', 'state', 'priority', 'created_at', 'updated_at', 'owner'),
    granted_rights: (row) => JSON.stringify(row.granted_rights),
    warnings: (row) => JSON.stringify(row.warnings),
    ...plain<JobRow>('error', 'idempotency_key', 'rank_metric', 'rank_mode', 'retry_attempts'),
    pins_fingerprint: (row) => Number(row.pins_fingerprint),
    is_dag: (row) => Number(row.is_dag),
    ...plain<JobRow>('meaning', 'reuse'),
    num_tasks: (row) => row.num_tasks,
    num_queued: (row) => row.counts.queued,
    num_leased: (row) => row.counts.leased,
    num_running: (row) => row.counts.running,
    num_lost: (row) => row.counts.lost,
    num_succeeded: (row) => row.counts.succeeded,
    num_failed: (row) => row.counts.failed,
    num_cancelled: (row) => row.counts.cancelled,
    ...plain<JobRow>('best_metric', 'best_task_id', 'best_model_artifact_id', 'num_reused'),
    standings: (row) => (isToldByRow(row) ? null : JSON.stringify(row.standings)),
    selection: (row) => (row.selection ? JSON.stringify(row.selection) : null),
    ...plain<JobRow>('next_seq', 'last_seq'),
  },
  (row) => ({
    ...(row as unknown as JobRow),
    granted_rights: parse(row.granted_rights),
    warnings: parse(row.warnings),
    pins_fingerprint: row.pins_fingerprint === 1,
    standings: row.standings === null ? [onlyStanding(row)] : parse(row.standings),
    selection: row.selection === null ? null : parse(row.selection),
    is_dag: row.is_dag === 1,
    counts: {
      queued: row.num_queued as number,
      leased: row.num_leased as number,
      running: row.num_running as number,
      lost: row.num_lost as number,
      succeeded: row.num_succeeded as number,
      failed: row.num_failed as number,
      cancelled: row.num_cancelled as number,
    },
  }),
);

/** The only standing of a job, as the other columns tell it: of most jobs, and of all in stores of earlier versions. */
const onlyStanding = (row: SqlRow): Standing =>
  ({
    metric: row.rank_metric,
    mode: row.rank_mode,
    reported: row.best_task_id === null ? 0 : row.num_succeeded,
    best_metric: row.best_metric,
    best_task_id: row.best_task_id,
    best_model_artifact_id: row.best_model_artifact_id,
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

export const TASKS = define<TaskRow>(
  'tasks',
  ['seq'],
  [
    'id',
    'job_id',
    'priority',
    'requirement_id',
    'payload',
    'pipeline_label',
    'pipeline_steps',
    'dataset_label',
    'timeout_seconds',
    'backoff_seconds',
    'created_at',
    'content_key',
  ],
  {
    ...plain<TaskRow>(
      'seq',
      'id',
      'job_id',
      'status',
      'state',
      'priority',
      'attempt',
      'max_attempts',
      'worker_id',
      'lease_expires_at',
      'requirement_id',
    ),
    payload: (row) => JSON.stringify(row.payload),
    ...plain<TaskRow>(
      'pipeline_label',
      'dataset_label',
      'timeout_seconds',
      'created_at',
      'updated_at',
      'started_at',
      'result',
      'rank_value',
      'model_artifact_id',
      'error',
    ),
    last_report: (row) => (row.last_report ? JSON.stringify(row.last_report) : null),
    ...plain<TaskRow>('backoff_seconds', 'not_before', 'worker_faults'),
    // Nearly all avoid nobody.
    avoids: (row) => (row.avoids.length > 0 ? JSON.stringify(row.avoids) : null),
    pipeline_steps: (row) => row.pipeline_steps,
    rank_others: (row) => (row.rank_others.length > 0 ? JSON.stringify(row.rank_others) : null),
    content_key: (row) => row.content_key,
    reused_from: (row) => (row.reused_from ? JSON.stringify(row.reused_from) : null),
  },
  (row) => ({
    ...(row as unknown as TaskRow),
    payload: parse(row.payload),
    avoids: row.avoids === null ? [] : parse(row.avoids),
    rank_others: row.rank_others === null ? [] : parse(row.rank_others),
    last_report: row.last_report === null ? null : parse(row.last_report),
    reused_from: row.reused_from === null ? null : parse(row.reused_from),
  }),
);

export const WORKERS = define<WorkerRow>(
  'workers',
  ['id'],
  ['principal', 'registered_at'],
  {
    ...plain<WorkerRow>('id', 'name', 'principal', 'status', 'state', 'registered_at', 'last_seen_at'),
    labels: (row) => JSON.stringify(row.labels),
    capabilities: (row) => JSON.stringify(row.capabilities),
    version: (row) => JSON.stringify(row.version),
    ...plain<WorkerRow>('slots_total', 'slots_used', 'session', 'suspended', 'leaving'),
  },
  (row) => ({
    ...(row as unknown as WorkerRow),
    labels: parse(row.labels),
    capabilities: parse(row.capabilities),
    version: parse(row.version),
  }),
);

/** What changes of a worker from moment to moment; the rest only when it registers. */
export const WORKER_STATES = define<WorkerRow>(
  'workers',
  ['id'],
  [],
  plain<WorkerRow>('id', 'status', 'state', 'last_seen_at', 'slots_used', 'suspended', 'leaving'),
  WORKERS.decode,
);

export const ARTIFACTS = define<ArtifactRow>(
  'artifacts',
  ['id'],
  [],
  {
    ...plain<ArtifactRow>('id', 'sha256', 'kind', 'path', 'size_bytes', 'created_at', 'filename'),
    metadata: (row) => JSON.stringify(row.metadata),
  },
  (row) => ({ ...(row as unknown as ArtifactRow), metadata: parse(row.metadata) }),
);

export const TASK_ARTIFACTS = define<TaskArtifactRow>(
  'task_artifacts',
  ['task_id', 'attempt', 'role', 'artifact_id'],
  [],
  plain<TaskArtifactRow>('task_id', 'attempt', 'role', 'artifact_id'),
  (row) => row as unknown as TaskArtifactRow,
);

export const EVENTS = define<EventRow>(
  'events',
  ['id'],
  [],
  {
    ...plain<EventRow>('id', 'job_id', 'task_id', 'worker_id', 'ts', 'level', 'type', 'message'),
    data: (row) => (row.data instanceof RawJson ? row.data.text : JSON.stringify(row.data)),
  },
  (row) => ({ ...(row as unknown as EventRow), data: parse(row.data) }),
);

export const REQUIREMENTS = define<RequirementRow>(
  'requirements',
  ['id'],
  [],
  plain<RequirementRow>('id', 'signature', 'document'),
  (row) => row as unknown as RequirementRow,
);

export const MINUTES = define<MinuteRow>(
  'stats_minutes',
  ['minute'],
  [],
  plain<MinuteRow>('minute', 'submitted', 'started', 'succeeded', 'failed', 'queued', 'workers_alive'),
  (row) => row as unknown as MinuteRow,
);

export const TALLY = define<TallyRow>(
  'tally',
  ['id'],
  [],
  {
    id: (row) => row.id,
    jobs: (row) => JSON.stringify(row.jobs),
    tasks: (row) => JSON.stringify(row.tasks),
    workers: (row) => JSON.stringify(row.workers),
  },
  (row) => ({ id: 1, jobs: parse(row.jobs), tasks: parse(row.tasks), workers: parse(row.workers) }),
);

export const COMPUTED = define<ComputedRow>(
  'computed',
  ['content_key', 'version', 'owner'],
  [],
  plain<ComputedRow>('content_key', 'version', 'owner', 'task_seq'),
  (row) => row as unknown as ComputedRow,
);

export const CHOICES = define<ChoiceRow>(
  'choices',
  ['job_id'],
  [],
  { ...plain<ChoiceRow>('job_id'), chosen: (row) => JSON.stringify(row.chosen) },
  (row) => ({ job_id: row.job_id as string, chosen: parse(row.chosen) }),
);

export const JOB_REQUESTS = define<{ job_id: string; request: string }>(
  'job_requests',
  ['job_id'],
  [],
  plain('job_id', 'request'),
  (row) => row as unknown as { job_id: string; request: string },
);

export const JOB_VARIANTS = define<VariantsRow>(
  'job_variants',
  ['job_id'],
  [],
  plain<VariantsRow>('job_id', 'variants'),
  (row) => row as unknown as VariantsRow,
);
