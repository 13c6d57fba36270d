import { type Static, Type } from 'typebox';
import { PHASES, TASK_ROLES } from '../job/selection.ts';
import { AnyObject, Nullable, Seconds, TextMap, Words } from './common.ts';
import { EstimateView } from './estimate.ts';
import { Requirements } from './job.ts';
import { ABSENT, NEEDED } from './lenient.ts';
import { Level } from './report.ts';
import { JOB_STATUSES, TASK_STATUSES, WORKER_STATUSES } from './statuses.ts';
import { DrainView, LEAVING, WorkerVersion } from './worker.ts';

export const JobStatus = Words(JOB_STATUSES);
export const TaskStatus = Words(TASK_STATUSES);
export const WorkerStatus = Words(WORKER_STATUSES);

const PipelineSteps = Type.String({
  description: 'a short description of an inline pipeline that has no name of its own',
});

export const ReusedFrom = Type.Object(
  { job_id: Type.String(), task_id: Type.String() },
  { description: 'the task that computed the result, where it was not this one' },
);

export const RankingEntry = Type.Object(
  {
    task_id: Type.String(),
    dataset: Type.String(),
    pipeline: Type.String(),
    pipeline_steps: Type.Optional(Nullable(PipelineSteps)),
    reused_from: Type.Optional(Nullable(ReusedFrom)),
    metrics: AnyObject,
  },
  { additionalProperties: true, description: 'beside these, the rank metric under its own name' },
);

/** How a job that selects stands on one of its datasets. */
export const SelectionView = Type.Object({
  dataset: Type.String(),
  num_left: Type.Integer({ description: 'variants that have not ended' }),
  task_id: Nullable(Type.String({ description: 'the variant that was selected' })),
  metric: Nullable(Type.String({ description: 'by which it was' })),
  value: Nullable(Type.Number()),
  refit: Nullable(
    Words(
      ['none', 'queued', 'succeeded', 'failed', 'cancelled'],
      'of what was selected; `queued` until its task has ended',
    ),
  ),
  refit_task_id: Nullable(Type.String()),
  error: Nullable(Type.String({ description: 'why none could be selected' })),
});

export const Aggregate = Type.Object({
  num_tasks: Type.Integer(),
  num_queued: Type.Integer({ description: 'queued and leased' }),
  num_running: Type.Integer(),
  num_succeeded: Type.Integer(),
  num_failed: Type.Integer(),
  num_cancelled: Type.Integer(),
  num_reused: Type.Integer({
    description: 'of those that succeeded, how many have the result of another task',
  }),
  rank_metric: Type.String({ description: 'of the metrics that the job may rank by, the one that it does' }),
  best_metric: Nullable(Type.Number()),
  best_task_id: Nullable(Type.String()),
  best_model_artifact_id: Nullable(Type.String()),
  selections: Type.Optional(
    Type.Array(SelectionView, { description: 'by dataset, of a job that selects; left out of lists' }),
  ),
  ranking: Type.Array(RankingEntry),
  errors: TextMap,
});

export const Submission = Type.Object({
  mode: Type.Literal('client_submitted'),
  principal: Type.String(),
  required_rights: Type.Array(Type.String()),
  granted_rights: Type.Array(Type.String()),
});

/** How the server deals a job out; attested by it. */
export const Scheduler = Type.Object({
  shape: Words(['atomic', 'pipeline_dataset_matrix', 'dag_shaped_whole_run']),
  task_granularity: Type.String({ description: '`whole_<lib>_run`' }),
  assignment_mode: Type.Literal('server_leased_executor'),
  result_provenance: Type.Literal('server_attested_worker_report'),
  submit_rights_required: Type.Array(Type.String()),
  execute_rights_required: Type.Array(Type.String()),
});

export const JobView = Type.Object(
  {
    id: Type.String(),
    type: Type.String(),
    name: Nullable(Type.String()),
    note: Type.Optional(Nullable(Type.String())),
    tags: Type.Optional(Type.Array(Type.String())),
    status: JobStatus,
    phase: Type.Optional(Nullable(Words(PHASES, 'of a job that selects, while it is running'))),
    estimate: Type.Optional(Nullable(EstimateView)),
    priority: Type.Integer(),
    keep: Type.Optional(
      Nullable(Type.String({ description: 'how long it stays after its end; null: as the server is set' })),
    ),
    resubmitted_from: Type.Optional(
      Nullable(Type.String({ description: 'the job of which it is a repeated or changed submission' })),
    ),
    created_at: Seconds,
    updated_at: Seconds,
    owner: Nullable(Type.String()),
    error: Nullable(Type.String()),
    warnings: Type.Array(Type.String()),
    submission: Submission,
    scheduler: Scheduler,
    aggregate: Aggregate,
  },
  { [NEEDED]: ['id', 'status'] },
);

export const JobDeleted = Type.Object({
  id: Type.String(),
  deleted: Type.Boolean({ description: 'false where it was only asked if it would be' }),
  num_tasks: Type.Integer(),
});

export const Waiting = Type.Object({ requirement: Type.String(), workers_missing: Type.Integer() });

export const TaskView = Type.Object(
  {
    id: Type.String(),
    job_id: Type.String(),
    status: TaskStatus,
    attempt: Type.Integer(),
    max_attempts: Type.Integer(),
    worker_id: Nullable(Type.String()),
    lease_expires_at: Nullable(Seconds),
    requirements: Requirements,
    dataset_label: Type.String(),
    pipeline_label: Type.String(),
    pipeline_steps: Type.Optional(Nullable(PipelineSteps)),
    role: Type.Optional(Nullable(Words(TASK_ROLES, 'what it is for, in a job that selects'))),
    created_at: Seconds,
    updated_at: Seconds,
    started_at: Nullable(Seconds),
    not_before: Nullable(Seconds),
    result: Nullable(AnyObject),
    reused_from: Type.Optional(Nullable(ReusedFrom)),
    error: Nullable(Type.String()),
    waiting_for: Type.Array(Waiting),
  },
  { [NEEDED]: ['id', 'status'] },
);

export const WorkerView = Type.Object(
  {
    id: Type.String(),
    name: Nullable(Type.String()),
    status: WorkerStatus,
    slots_total: Type.Integer(),
    slots_used: Type.Integer(),
    last_seen_at: Seconds,
    labels: TextMap,
    capabilities: AnyObject,
    version: WorkerVersion,
    cluster_version: Nullable(Type.String()),
    version_divergent: Type.Boolean(),
    suspended: Nullable(Type.String({ description: 'why the worker asks for no tasks at present' })),
    drained: Type.Optional(
      Nullable(
        Type.Unsafe<Static<typeof DrainView>>({
          ...DrainView,
          description: 'an operator has ordered to give it nothing more',
        }),
      ),
    ),
    leaving: Nullable(Words(LEAVING, 'it was told to end; one that has ended is dead, and was not silent')),
  },
  { [NEEDED]: ['id'] },
);

export const EventView = Type.Object(
  {
    id: Type.Integer(),
    job_id: Nullable(Type.String()),
    task_id: Nullable(Type.String()),
    worker_id: Nullable(Type.String()),
    ts: Seconds,
    level: Type.Unsafe<Level>({ ...Level, [ABSENT]: 'info' }),
    type: Type.String(),
    message: Type.String(),
    data: AnyObject,
  },
  { [NEEDED]: ['id', 'type'] },
);

export const ArtifactUploaded = Type.Object(
  {
    artifact_id: Type.String(),
    sha256: Type.String(),
    size_bytes: Type.Integer(),
  },
  { [NEEDED]: ['artifact_id'] },
);

export const ArtifactView = Type.Object(
  {
    role: Type.String(),
    task_id: Nullable(Type.String()),
    id: Type.String(),
    sha256: Type.String(),
    kind: Type.String(),
    size_bytes: Type.Integer(),
    created_at: Seconds,
    filename: Nullable(Type.String()),
    metadata: AnyObject,
    expired_at: Type.Optional(
      Nullable(Type.Number({ description: 'when its bytes were deleted, seconds since the epoch' })),
    ),
  },
  { [NEEDED]: ['id'] },
);

/** How the schedule of backups goes. */
export const BackupsView = Type.Object({
  last: Nullable(
    Type.Object({
      made_at: Type.Number({ description: 'the moment that it shows, seconds since the epoch' }),
      seconds: Type.Number({ description: 'that it took' }),
      bytes: Type.Integer({ description: 'of the store and all objects' }),
      copied_bytes: Type.Integer({ description: 'without the objects that the one before had' }),
      whole: Type.Boolean({ description: 'false where something was damaged already' }),
    }),
  ),
  running: Type.Boolean({ description: 'one is being made' }),
  next_at: Type.Number({ description: 'when the next one is due, seconds since the epoch' }),
  overdue: Type.Boolean({ description: 'the newest is older than twice the time between two' }),
  failure: Nullable(
    Type.Object({
      at: Type.Number({ description: 'of the last try, after which none has worked' }),
      error: Type.String(),
    }),
  ),
});

/** What of the queue nobody is given at present. */
export const PauseView = Type.Object({
  kind: Words(['all', 'type', 'owner'], 'what is paused: everything, or the jobs of a type or an owner'),
  name: Type.String({ description: 'of the type or owner' }),
  by: Type.String({ description: 'the principal that paused it' }),
  at: Seconds,
});

export const ClusterStats = Type.Object({
  share: Type.Optional(Words(['fifo', 'owner', 'job'], 'how free slots are shared within a priority')),
  paused: Type.Optional(Type.Array(PauseView)),
  server_version: Type.String(),
  api_version: Type.Integer(),
  jobs_by_status: Type.Record(Type.String(), Type.Integer()),
  tasks_by_status: Type.Record(Type.String(), Type.Integer()),
  tasks_in_flight: Type.Integer(),
  workers_alive: Type.Integer(),
  workers_dead: Type.Integer(),
  backups: Type.Optional(BackupsView),
});

export const StatsMinute = Type.Object({
  ts: Seconds,
  submitted: Type.Integer(),
  started: Type.Integer(),
  succeeded: Type.Integer(),
  failed: Type.Integer(),
  queued: Type.Integer(),
  workers_alive: Type.Integer(),
});

export type JobStatus = Static<typeof JobStatus>;
export type TaskStatus = Static<typeof TaskStatus>;
export type WorkerStatus = Static<typeof WorkerStatus>;
export type SelectionView = Static<typeof SelectionView>;
export type RankingEntry = Static<typeof RankingEntry>;
export type Aggregate = Static<typeof Aggregate>;
export type JobView = Static<typeof JobView>;
export type TaskView = Static<typeof TaskView>;
export type WorkerView = Static<typeof WorkerView>;
export type EventView = Static<typeof EventView>;
export type ArtifactUploaded = Static<typeof ArtifactUploaded>;
export type ArtifactView = Static<typeof ArtifactView>;
export type BackupsView = Static<typeof BackupsView>;
export type PauseView = Static<typeof PauseView>;
export type ClusterStats = Static<typeof ClusterStats>;
export type StatsMinute = Static<typeof StatsMinute>;
export type Waiting = Static<typeof Waiting>;
