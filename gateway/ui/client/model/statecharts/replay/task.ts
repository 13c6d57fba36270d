import type { EventView } from '../../../../../../machines/schema/views.ts';
import type { TaskReport } from '../../../../../../machines/task/types.ts';
import type { MachineEvent, Snapshot } from './act.ts';

/** What a task was sent, as far as its recorded events tell. */
export interface Deduced {
  event: MachineEvent;
  /** How many of the recorded events it explains. */
  explains: number;
  /** It left no event: it must have come, since what follows could not have happened otherwise. */
  silent?: boolean;
  /** Members of the context that are not known afterwards. */
  unknown?: readonly string[];
}

type Data = Readonly<Record<string, unknown>>;

/** How the server words the end of an attempt that the worker did not end itself. */
const TIMED_OUT = /^timed out: the attempt ran for more than .* s, ended by the server$/;

/**
 * What was sent to a task that stands there, by the events that were recorded next. What no event records (when a lease
 * expires, results, who avoids whom) is left `undefined`. Null: no such event can follow.
 */
export function deduce(task: Snapshot, [first, second]: readonly EventView[]): Deduced | null {
  if (!first) return null;
  const data = first.data as Data;
  const report = (verb: TaskReport['verb']) => ({ worker_id: first.worker_id, attempt: data.attempt, verb });
  const followedBy = (type: string, reason?: string): number =>
    second?.type === type && second.ts === first.ts && (reason === undefined || second.data.reason === reason)
      ? 2
      : 1;
  const result = { result: undefined, model_artifact_id: undefined, rank_others: undefined };
  switch (first.type) {
    case 'task_leased':
      return {
        event: { type: 'LEASE', worker_id: first.worker_id, lease_expires_at: undefined },
        explains: 1,
      };
    case 'task_started':
      return { event: { type: 'START', now: first.ts, report: report('start') }, explains: 1 };
    case 'task_completed': {
      const { metrics, rank_value } = data;
      const event = { type: 'COMPLETE', ...result, metrics: JSON.stringify(metrics), rank_value };
      return { event: { ...event, report: report('complete') }, explains: 1 };
    }
    case 'task_reused': {
      const { metrics, rank_value, reused_from } = data;
      return {
        event: { type: 'REUSED', ...result, metrics: JSON.stringify(metrics), rank_value, reused_from },
        explains: 1,
      };
    }
    case 'task_failed':
      return failure(task, first, data, followedBy('task_requeued', 'failure'), report('fail'));
    case 'task_lost':
      return {
        event: { type: 'LEASE_EXPIRED' },
        explains: Math.max(followedBy('task_requeued', 'lease_lapsed'), followedBy('task_failed')),
      };
    case 'task_requeued':
      return requeued(task, data, report('fail'));
    case 'task_cancelled':
      return cancelled(task);
    default:
      return null;
  }
}

function failure(task: Snapshot, { ts }: EventView, data: Data, explains: number, report: object): Deduced {
  const { error, retriable, fault, missing_path, traceback, requeued } = data;
  if (task.value === 'queued') return { event: { type: 'GIVE_UP', error }, explains: 1 };
  if (typeof error === 'string' && TIMED_OUT.test(error))
    return { event: { type: 'TIMEOUT', now: ts, error }, explains };
  // Whether another worker could run it is not recorded, but what came of it is.
  const event = {
    type: 'FAIL',
    now: ts,
    error,
    retriable,
    fault,
    elsewhere: requeued,
    by: undefined,
    report,
  };
  return {
    event: {
      ...event,
      ...(missing_path !== undefined && { missing_path }),
      ...(traceback !== undefined && { traceback }),
    },
    explains,
  };
}

function requeued(
  { context }: Snapshot,
  { reason, max_attempts }: Data,
  report: Pick<TaskReport, 'verb'>,
): Deduced | null {
  if (reason === 'undelivered') return { event: { type: 'UNDELIVERED' }, explains: 1 };
  if (reason === 'taken_back') return { event: { type: 'TAKE_BACK' }, explains: 1 };
  if (reason === 'preempted') return { event: { type: 'GIVE_BACK', report }, explains: 1 };
  if (reason !== 'retry') return null;
  const extra_attempts = Number(max_attempts) - Number(context.max_attempts);
  return { event: { type: 'RETRY', extra_attempts }, explains: 1 };
}

/** A running one is told to stop, of which no event tells; nor is it recorded what ended it then. */
function cancelled({ value }: Snapshot): Deduced {
  if (typeof value === 'string') return { event: { type: 'CANCEL' }, explains: 1 };
  const { running } = value as { running?: string };
  if (running === 'executing') return { event: { type: 'CANCEL' }, explains: 0, silent: true };
  const report = { worker_id: undefined, attempt: undefined, verb: 'complete' };
  return {
    event: { type: 'COMPLETE, FAIL, GIVE_BACK, LEASE_EXPIRED, TAKE_BACK or TIMEOUT', report },
    explains: 1,
    unknown: ['worker_id', 'last_report'],
  };
}
