import type { JobContext, JobEvent, TaskCounts } from '../../machines/job/job.ts';
import { newSelection, type Selection } from '../../machines/job/selection.ts';
import { noStanding } from '../../machines/ranking/standing.ts';
import type { TaskStatus } from '../../machines/schema/views.ts';
import type { AcceptedReport, TaskContext, TaskEvent, TaskReport } from '../../machines/task/task.ts';
import type { DrainOrder, WorkerContext, WorkerEvent } from '../../machines/worker/worker.ts';

/** Contexts and events to start from; each test changes what it is about. */

export const taskContext = (changes: Partial<TaskContext> = {}): TaskContext => ({
  id: 'task_1',
  job_id: 'job_1',
  attempt: 0,
  max_attempts: 2,
  backoff_seconds: 0,
  not_before: null,
  worker_faults: 0,
  take_backs: 0,
  avoids: [],
  worker_id: null,
  lease_expires_at: null,
  started_at: null,
  error: null,
  result: null,
  rank_value: null,
  rank_others: [],
  model_artifact_id: null,
  reused_from: null,
  last_report: null,
  ...changes,
});

/** A task that a worker holds in its first of two attempts. */
export const heldTask = (changes: Partial<TaskContext> = {}): TaskContext =>
  taskContext({ attempt: 1, worker_id: 'worker_1', lease_expires_at: 160, ...changes });

export const report = (verb: TaskReport['verb'], attempt = 1): TaskReport => ({
  worker_id: 'worker_1',
  attempt,
  verb,
});

/** The same as the task remembers it. */
export const accepted = (of: TaskReport, requeued = false): AcceptedReport => ({
  ...of,
  answer: of.verb === 'fail' ? { ok: true, requeued } : { ok: true },
});

type Fail = Extract<TaskEvent, { type: 'FAIL' }>;

export const fail = (retriable: boolean, changes: Partial<Fail> = {}): Fail => ({
  type: 'FAIL',
  now: 100,
  error: 'the spectra are empty',
  retriable,
  fault: 'task',
  by: 'worker_1',
  elsewhere: false,
  report: report('fail'),
  ...changes,
});

/** One event of each kind, and of each variant that a guard tells apart. */
export const TASK_EVENTS = {
  LEASE: { type: 'LEASE', worker_id: 'worker_1', lease_expires_at: 160 },
  UNDELIVERED: { type: 'UNDELIVERED' },
  TAKE_BACK: { type: 'TAKE_BACK' },
  START: { type: 'START', now: 100, report: report('start') },
  COMPLETE: {
    type: 'COMPLETE',
    result: '{"status":"succeeded"}',
    metrics: '{"best_rmse":0.5}',
    rank_value: 0.5,
    rank_others: [null, 2],
    model_artifact_id: 'art_1',
    report: report('complete'),
  },
  REUSED: {
    type: 'REUSED',
    result: '{"status":"succeeded"}',
    metrics: '{"best_rmse":0.5}',
    rank_value: 0.5,
    rank_others: [null, 2],
    model_artifact_id: 'art_1',
    reused_from: { job_id: 'job_0', task_id: 'task_0' },
  },
  'FAIL retriable': fail(true),
  'FAIL final': fail(false),
  'FAIL elsewhere': fail(true, { fault: 'worker', elsewhere: true }),
  'FAIL nowhere': fail(true, { fault: 'worker', elsewhere: false }),
  GIVE_BACK: { type: 'GIVE_BACK', report: report('fail') },
  LEASE_EXPIRED: { type: 'LEASE_EXPIRED' },
  TIMEOUT: { type: 'TIMEOUT', now: 100, error: 'timed out' },
  GIVE_UP: { type: 'GIVE_UP', error: 'nobody has the spectra' },
  CANCEL: { type: 'CANCEL' },
  RETRY: { type: 'RETRY', extra_attempts: 2 },
} satisfies Record<string, TaskEvent>;

export const NO_TASKS: TaskCounts = {
  queued: 0,
  leased: 0,
  running: 0,
  lost: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
};

export function jobContext(counts: Partial<TaskCounts>, changes: Partial<JobContext> = {}): JobContext {
  const all = { ...NO_TASKS, ...counts };
  return {
    id: 'job_1',
    num_tasks: Object.values(all).reduce((sum, n) => sum + n, 0),
    counts: all,
    standings: [noStanding({ metric: 'best_rmse', mode: 'min' })],
    num_reused: 0,
    selection: null,
    error: null,
    ...changes,
  };
}

const failed = (from: TaskStatus): JobEvent => ({
  type: 'TASK_FAILED',
  from,
  error: 'the spectra are empty',
});
const requeued = (from: TaskStatus): JobEvent => ({ type: 'TASK_REQUEUED', from });
const cancelled = (from: TaskStatus): JobEvent => ({ type: 'TASK_CANCELLED', from });

export const succeeded = (
  task_id: string,
  rank_value: number | null,
  rank_others: (number | null)[] = [],
  from: 'running' | 'queued' = 'running',
): JobEvent => ({
  type: 'TASK_SUCCEEDED',
  from,
  task_id,
  rank_value,
  rank_others,
  model_artifact_id: `model of ${task_id}`,
});

/** Of a job that selects the best of its variants: so many are left on its one dataset. */
export const selecting = (left: number, changes: Partial<Selection> = {}): Selection => ({
  ...newSelection(['gasoline'], [{ metric: 'cv_rmse', mode: 'min' }], { refit: true, variants: left }),
  ...changes,
});

export const JOB_EVENTS = {
  CANCEL: { type: 'CANCEL' },
  RETRY: { type: 'RETRY' },
  BULK_DONE: { type: 'BULK_DONE' },
  TASK_LEASED: { type: 'TASK_LEASED', from: 'queued' },
  TASK_STARTED: { type: 'TASK_STARTED', from: 'leased' },
  'TASK_REQUEUED leased': requeued('leased'),
  'TASK_REQUEUED running': requeued('running'),
  'TASK_REQUEUED failed': requeued('failed'),
  'TASK_SUCCEEDED running': succeeded('task_1', 0.5),
  'TASK_SUCCEEDED queued': succeeded('task_1', 0.5, [], 'queued'),
  'TASK_FAILED queued': failed('queued'),
  'TASK_FAILED leased': failed('leased'),
  'TASK_FAILED running': failed('running'),
  'TASK_CANCELLED queued': cancelled('queued'),
  'TASK_CANCELLED leased': cancelled('leased'),
  'TASK_CANCELLED running': cancelled('running'),
  'VARIANTS_ADDED new': { type: 'VARIANTS_ADDED', variants: 3, reuse: false },
  'VARIANTS_ADDED known': { type: 'VARIANTS_ADDED', variants: 3, reuse: true },
  REFIT_ADDED: { type: 'REFIT_ADDED', dataset: 0, task_id: 'task_9' },
} satisfies Record<string, JobEvent>;

/** The state that the task of an event is in before it, as the job counts it. */
export function leftBy(event: JobEvent): keyof TaskCounts | null {
  return 'from' in event ? event.from : null;
}

export const workerContext = (
  slots_used: number,
  slots_total = 2,
  drained: DrainOrder | null = null,
): WorkerContext => ({ id: 'worker_1', slots_total, slots_used, suspended: null, leaving: null, drained });

export const DRAIN_ORDER: DrainOrder = { by: 'olivia', at: 100, takes_back_at: 160 };

export const WORKER_EVENTS = {
  'REGISTER one slot': { type: 'REGISTER', slots_total: 1 },
  'REGISTER two slots': { type: 'REGISTER', slots_total: 2 },
  HEARTBEAT: { type: 'HEARTBEAT' },
  SUSPEND: { type: 'SUSPEND', reason: 'its disk is full' },
  RESUME: { type: 'RESUME' },
  DRAIN: { type: 'DRAIN' },
  STOP: { type: 'STOP' },
  HEARTBEAT_MISSED: { type: 'HEARTBEAT_MISSED' },
  TASK_TAKEN: { type: 'TASK_TAKEN' },
  TASK_RELEASED: { type: 'TASK_RELEASED' },
  DRAIN_ORDERED: { type: 'DRAIN_ORDERED', order: DRAIN_ORDER },
  DRAIN_LIFTED: { type: 'DRAIN_LIFTED' },
  REMOVE: { type: 'REMOVE' },
} satisfies Record<string, WorkerEvent>;

/** The status that a task has when its job is told so. */
export const ARRIVALS: Partial<Record<JobEvent['type'], keyof TaskCounts>> = {
  ...{ TASK_LEASED: 'leased', TASK_STARTED: 'running', TASK_REQUEUED: 'queued' },
  ...{ TASK_SUCCEEDED: 'succeeded', TASK_FAILED: 'failed', TASK_CANCELLED: 'cancelled' },
};
