import type { TaskCounts } from '../../machines/job.ts';
import type { Reuse } from '../../machines/job-digest.ts';
import type { RawJson } from '../../machines/json/raw.ts';
import type { Standing } from '../../machines/ranking/standing.ts';
import type { Right } from '../../machines/rights.ts';
import type { Level } from '../../machines/schema/report.ts';
import type { JobStatus, TaskStatus, WorkerStatus } from '../../machines/schema/views.ts';
import type { WorkerVersion } from '../../machines/schema/worker.ts';
import type { Selection, TaskPlace } from '../../machines/selection.ts';
import type { AcceptedReport, ReusedFrom } from '../../machines/task.ts';
import type { Leaving } from '../../machines/worker.ts';

/** The rows as the program holds them: text columns parsed, counters together. */
export interface JobRow {
  seq: number;
  id: string;
  type: string;
  name: string | null;
  status: JobStatus;
  /** The state below the status (`ready`, `telling`), if there is one. */
  state: string | null;
  priority: number;
  created_at: number;
  updated_at: number;
  owner: string;
  granted_rights: readonly Right[];
  warnings: string[];
  error: string | null;
  idempotency_key: string | null;
  /** The metric that it ranks by at present, one of those of `standings`, and whether its largest value is best. */
  rank_metric: string;
  rank_mode: 'min' | 'max';
  /** `retry.max_attempts` of the specification: how many attempts a manual retry adds. */
  retry_attempts: number;
  /** Whether a pipeline of the job names the fingerprint that it expects. */
  pins_fingerprint: boolean;
  /** Whether a pipeline of the job is a graph of steps. */
  is_dag: boolean;
  /** What the specification means, hashed; null without an idempotency key, and in stores of earlier versions. */
  meaning: string | null;
  /** Whose results its tasks may be answered with. */
  reuse: Reuse | null;
  num_tasks: number;
  counts: TaskCounts;
  best_metric: number | null;
  best_task_id: string | null;
  best_model_artifact_id: string | null;
  /** Of those that succeeded, how many have the result of another task. */
  num_reused: number;
  /** By each of the metrics that it may rank by. */
  standings: readonly Standing[];
  /** Of a job that selects the best of its variants. */
  selection: Selection | null;
  /** Where in the queue its next task will stand, of the numbers that are kept for it, and the last of those. */
  next_seq: number | null;
  last_seq: number | null;
}

export interface TaskRow {
  seq: number;
  id: string;
  job_id: string;
  status: TaskStatus;
  /** The state below the status (`executing`, `stopping`), if there is one. */
  state: string | null;
  priority: number;
  attempt: number;
  max_attempts: number;
  backoff_seconds: number;
  /** Seconds since the epoch before which it is not leased again. */
  not_before: number | null;
  worker_faults: number;
  /** Registrations of workers that reported a fault of their own for it. */
  avoids: string[];
  worker_id: string | null;
  lease_expires_at: number | null;
  requirement_id: number;
  payload: TaskPlace;
  pipeline_label: string;
  /** What tells its pipeline apart where the label does not. */
  pipeline_steps: string | null;
  dataset_label: string;
  timeout_seconds: number | null;
  created_at: number;
  updated_at: number;
  started_at: number | null;
  /** JSON text. */
  result: string | null;
  rank_value: number | null;
  /** By the metrics behind the first. */
  rank_others: readonly (number | null)[];
  model_artifact_id: string | null;
  error: string | null;
  last_report: AcceptedReport | null;
  /** What it is made of, hashed; null where that is not known by content. */
  content_key: string | null;
  reused_from: ReusedFrom | null;
}

/** The last task of an owner that computed a content with a version of its library. */
export interface ComputedRow {
  content_key: string;
  version: string;
  owner: string;
  task_seq: number;
}

/** The pipelines that a library found in the one of a job: a JSON list. */
export interface VariantsRow {
  job_id: string;
  variants: string;
}

export interface WorkerRow {
  id: string;
  name: string | null;
  principal: string;
  /** How many times it has registered: the number of its newest session. */
  session: number;
  status: WorkerStatus;
  state: string | null;
  registered_at: number;
  last_seen_at: number;
  labels: Record<string, string>;
  capabilities: Record<string, unknown>;
  version: WorkerVersion;
  slots_total: number;
  slots_used: number;
  /** Why it asks for no tasks at present. */
  suspended: string | null;
  /** It was told to end. */
  leaving: Leaving | null;
}

/** The tasks that a retry is about, where it takes several turns and is not about all that failed. */
export interface ChoiceRow {
  job_id: string;
  /** Their sequence numbers, in order. */
  chosen: readonly number[] | null;
}

export interface ArtifactRow {
  id: string;
  sha256: string;
  kind: string;
  path: string;
  size_bytes: number;
  created_at: number;
  filename: string | null;
  metadata: Record<string, unknown>;
}

export interface TaskArtifactRow {
  task_id: string;
  attempt: number;
  role: string;
  artifact_id: string;
}

export interface EventRow {
  id: number;
  job_id: string | null;
  task_id: string | null;
  worker_id: string | null;
  ts: number;
  level: Level;
  type: string;
  message: string;
  /** What a worker reported is kept as it came. */
  data: Readonly<Record<string, unknown>> | RawJson;
}

export interface RequirementRow {
  id: number;
  signature: string;
  document: string;
}

export interface MinuteRow {
  /** Minutes since the epoch. */
  minute: number;
  submitted: number;
  started: number;
  succeeded: number;
  failed: number;
  queued: number;
  workers_alive: number;
}

/** How many are in each status. */
export interface TallyRow {
  id: 1;
  jobs: Readonly<Record<string, number>>;
  tasks: Readonly<Record<string, number>>;
  workers: Readonly<Record<string, number>>;
}
