import type { TaskPlace } from '../../../machines/job/selection.ts';
import { RawJson } from '../../../machines/json/raw.ts';
import type { Level } from '../../../machines/schema/report.ts';
import type { TaskStatus, WorkerStatus } from '../../../machines/schema/views.ts';
import type { WorkerVersion } from '../../../machines/schema/worker.ts';
import type { AcceptedReport, ReusedFrom } from '../../../machines/task/types.ts';
import type { DrainOrder, Leaving } from '../../../machines/worker/worker.ts';
import { Column, integer, json, list, real, table, text, word } from './columns.ts';

export { JOBS } from './job-table.ts';

export const TASKS = table('tasks', ['seq'], {
  seq: integer,
  id: text.fixed,
  job_id: text.fixed,
  status: word<TaskStatus>(),
  /** The state below the status (`executing`, `stopping`), if there is one. */
  state: text.orNull,
  priority: integer.fixed,
  attempt: integer,
  max_attempts: integer,
  backoff_seconds: real.fixed,
  /** Seconds since the epoch before which it is not leased again. */
  not_before: real.orNull.rare,
  worker_faults: integer,
  take_backs: integer,
  /** Registrations of workers that reported a fault of their own for it. */
  avoids: list<string[]>().rare,
  worker_id: text.orNull,
  lease_expires_at: real.orNull,
  requirement_id: integer.fixed,
  payload: json<TaskPlace>().fixed,
  pipeline_label: text.fixed,
  /** What tells its pipeline apart where the label does not. */
  pipeline_steps: text.orNull.fixed.rare,
  dataset_label: text.fixed,
  timeout_seconds: real.orNull.fixed.rare,
  created_at: real.fixed,
  updated_at: real,
  started_at: real.orNull,
  /** JSON text. */
  result: text.orNull,
  rank_value: real.orNull,
  /** By the metrics behind the first. */
  rank_others: list<readonly (number | null)[]>().rare,
  model_artifact_id: text.orNull.rare,
  error: text.orNull.rare,
  last_report: json<AcceptedReport>().orNull,
  /** What it is made of, hashed; null where that is not known by content. */
  content_key: text.orNull.fixed.rare,
  reused_from: json<ReusedFrom>().orNull.rare,
});

const WORKER_COLUMNS = {
  id: text,
  status: word<WorkerStatus>(),
  state: text.orNull,
  last_seen_at: real,
  slots_used: integer,
  /** Why it asks for no tasks at present. */
  suspended: text.orNull.rare,
  /** It was told to end. */
  leaving: word<Leaving>().orNull.rare,
  /** An operator's order to give it nothing more. */
  drained: json<DrainOrder>().orNull.rare,
};

export const WORKERS = table('workers', ['id'], {
  ...WORKER_COLUMNS,
  name: text.orNull,
  principal: text.fixed,
  /** How many times it has registered: the number of its newest session. */
  session: integer,
  registered_at: real.fixed,
  labels: json<Record<string, string>>(),
  capabilities: json<Record<string, unknown>>(),
  version: json<WorkerVersion>(),
  slots_total: integer,
});

/** What changes of a worker from moment to moment; the rest only when it registers. */
export const WORKER_STATES = table('workers', ['id'], WORKER_COLUMNS);

export const WORKER_KEYS = table('workers', ['id'], { id: text });

export const ARTIFACTS = table('artifacts', ['id'], {
  id: text,
  sha256: text,
  kind: text,
  path: text,
  size_bytes: integer,
  created_at: real,
  filename: text.orNull,
  metadata: json<Record<string, unknown>>(),
  /** The task that uploaded it. */
  task_id: text.orNull,
  /** Since when the last job that named it is gone. */
  orphaned_at: real.orNull,
});

/** What jobs name as their inputs. */
export const JOB_INPUTS = table('job_inputs', ['job_id', 'artifact_id'], { job_id: text, artifact_id: text });

export const TASK_ARTIFACTS = table('task_artifacts', ['task_id', 'attempt', 'role', 'artifact_id'], {
  task_id: text,
  attempt: integer,
  role: text,
  artifact_id: text,
});

export const EVENTS = table('events', ['id'], {
  id: integer,
  job_id: text.orNull,
  task_id: text.orNull,
  worker_id: text.orNull,
  ts: real,
  level: word<Level>(),
  type: text,
  message: text,
  /** What a worker reported is kept as it came. */
  data: new Column<Readonly<Record<string, unknown>> | RawJson>({
    type: 'TEXT',
    encode: (data) => (data instanceof RawJson ? data.text : JSON.stringify(data)),
    decode: (cell) => JSON.parse(cell as string),
  }),
});

export const REQUIREMENTS = table('requirements', ['id'], {
  id: integer,
  signature: text,
  document: text,
  /** Whose tasks ask it, and of which type. */
  owner: text,
  type: text,
});

/** What is paused: everything, a type, or an owner. */
export const PAUSES = table('pauses', ['kind', 'name'], {
  kind: word<'all' | 'type' | 'owner'>(),
  /** Empty where all is paused. */
  name: text,
  by: text,
  at: real,
});

/** Of those that are lifted. */
export const PAUSE_KEYS = table('pauses', ['kind', 'name'], { kind: text, name: text });

export const MINUTES = table('stats_minutes', ['minute'], {
  /** Minutes since the epoch. */
  minute: integer,
  submitted: integer,
  started: integer,
  succeeded: integer,
  failed: integer,
  queued: integer,
  workers_alive: integer,
});

/** What the receiver of notifications is yet to be told. */
export const NOTIFICATIONS = table('notifications', ['id'], {
  /** That of the event. */
  id: integer,
  job_id: text,
  /** JSON text, as it is sent. */
  body: text,
  created_at: real,
  attempts: integer,
  error: text.orNull,
  next_at: real,
});

const counts = json<Readonly<Record<string, number>>>();

/** How many are in each status. */
export const TALLY = table('tally', ['id'], {
  id: new Column<1>({ type: 'INTEGER' }),
  jobs: counts,
  tasks: counts,
  workers: counts,
});

/** The last task of an owner that computed a content with a version of its library. */
export const COMPUTED = table('computed', ['content_key', 'version', 'owner'], {
  content_key: text,
  version: text,
  owner: text,
  task_seq: integer,
});

/** The tasks that a retry is about, where it takes several turns. */
export const CHOICES = table('choices', ['job_id'], {
  job_id: text,
  /** Their sequence numbers, in order; `null` as JSON: all that failed. */
  chosen: json<readonly number[] | null>(),
});

export const JOB_REQUESTS = table('job_requests', ['job_id'], { job_id: text, request: text });

/** The pipelines that a library found in the one of a job: a JSON list. */
export const JOB_VARIANTS = table('job_variants', ['job_id'], { job_id: text, variants: text });
