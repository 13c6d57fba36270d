import type { JobEvent } from '../../../../../../machines/job/types.ts';
import type { TaskStatus } from '../../../../../../machines/schema/views.ts';
import type { TaskEvent } from '../../../../../../machines/task/types.ts';
import type { WorkerEvent } from '../../../../../../machines/worker/worker.ts';
import type { Choosable } from '../past.ts';
import type { Context, MachineEvent } from './act.ts';

type Examples<Event extends { type: string }> = {
  [T in Event['type']]: Omit<Extract<Event, { type: T }>, 'type'>;
};

/** A status in which the job has a task, of those that an event may come from. */
const oneOf = (context: Context, statuses: readonly TaskStatus[]): TaskStatus => {
  const counts = (context.counts ?? {}) as Record<string, number>;
  return statuses.find((status) => (counts[status] ?? 0) > 0) ?? (statuses[0] as TaskStatus);
};

const jobEvents = (context: Context): Examples<JobEvent> => ({
  CANCEL: {},
  RETRY: {},
  BULK_DONE: {},
  TASK_LEASED: { from: 'queued' },
  TASK_STARTED: { from: 'leased' },
  TASK_REQUEUED: { from: oneOf(context, ['leased', 'running', 'failed']) },
  TASK_SUCCEEDED: {
    ...{ from: oneOf(context, ['running', 'queued']), task_id: 'task_x', model_artifact_id: null },
    ...{ rank_value: 0.5, rank_others: [] },
  },
  TASK_FAILED: { from: oneOf(context, ['running', 'leased', 'queued']), error: 'no luck' },
  TASK_CANCELLED: { from: oneOf(context, ['running', 'leased', 'queued']) },
  VARIANTS_ADDED: { variants: 2, reuse: false },
  REFIT_ADDED: { dataset: 0, task_id: 'task_x' },
});

function taskEvents(context: Context, now: number): Examples<TaskEvent> {
  const worker_id = typeof context.worker_id === 'string' ? context.worker_id : 'worker_x';
  const attempt = Number(context.attempt ?? 1);
  const result = { result: '{}', metrics: '{}', model_artifact_id: null, rank_value: null, rank_others: [] };
  return {
    LEASE: { worker_id, lease_expires_at: now + 60 },
    UNDELIVERED: {},
    TAKE_BACK: {},
    START: { now, report: { worker_id, attempt, verb: 'start' } },
    COMPLETE: { ...result, report: { worker_id, attempt, verb: 'complete' } },
    REUSED: { ...result, reused_from: { job_id: 'job_x', task_id: 'task_x' } },
    FAIL: {
      ...{ now, report: { worker_id, attempt, verb: 'fail' }, error: 'no luck', retriable: true },
      ...{ fault: 'task', by: 'registration_x', elsewhere: true },
    },
    GIVE_BACK: { report: { worker_id, attempt, verb: 'fail' } },
    LEASE_EXPIRED: {},
    TIMEOUT: { now, error: 'it took too long' },
    GIVE_UP: { error: 'no worker is left that could run it' },
    CANCEL: {},
    RETRY: { extra_attempts: 2 },
  };
}

const workerEvents = (context: Context, now: number): Examples<WorkerEvent> => ({
  REGISTER: { slots_total: Number(context.slots_total ?? 1) },
  HEARTBEAT: {},
  SUSPEND: { reason: 'it is not well' },
  RESUME: {},
  DRAIN: {},
  STOP: {},
  HEARTBEAT_MISSED: {},
  DRAIN_ORDERED: { order: { by: 'operator', at: now, takes_back_at: null } },
  DRAIN_LIFTED: {},
  REMOVE: {},
  TASK_TAKEN: {},
  TASK_RELEASED: {},
});

/** What each event of a machine may look like, for an actor that knows this. @param now seconds since the epoch */
export function examplesFor(kind: Choosable, context: Context, now: number): MachineEvent[] {
  const examples =
    kind === 'job'
      ? jobEvents(context)
      : kind === 'task'
        ? taskEvents(context, now)
        : workerEvents(context, now);
  return Object.entries(examples).map(([type, members]) => ({ type, ...(members as object) }));
}
