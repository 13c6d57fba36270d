import type { DeadlineKey } from '../core.ts';
import { cancelAhead, continueBulk } from '../jobs/bulk-command.ts';
import type { TaskCell, WorkerCell } from '../runtime/actor-cell.ts';
import { armBackoffs, armMissing } from '../runtime/arm-deadlines.ts';
import type { Turn } from '../turn/turn.ts';
import { takeBackAll } from './drain-worker.ts';

/** What the passing of time does, as a part of a turn; a promise where it takes long. */
export function deadlinePassed(turn: Turn, key: DeadlineKey): Promise<void> | undefined {
  const [kind, id] = [key.slice(0, key.indexOf(':')), key.slice(key.indexOf(':') + 1)];
  const [task, worker] = [turn.findTask(id), turn.findWorker(id)];
  if (worker) turn.references.worker(worker);
  if (kind === 'slice') return continueBulk(turn, id);
  if (kind === 'lease' && task) expireLease(turn, task);
  else if (kind === 'timeout' && task) timeOut(turn, task);
  else if (kind === 'silence' && worker) missHeartbeat(turn, worker);
  else if (kind === 'backoff') endBackoffs(turn);
  else if (kind === 'missing' && worker) forgetMissing(turn, worker);
  else if (kind === 'drain' && worker) return endDrainTime(turn, worker);
  else if (worker) reclaimStaleSlot(turn, worker);
  return undefined;
}

/** Whether it has passed by now, and was not moved by what has been handled since it came due. */
const hasPassed = ({ core }: Turn, at: number | null): boolean =>
  at !== null && at <= core.hearing.monotonic();

function expireLease(turn: Turn, task: TaskCell): void {
  if (!hasPassed(turn, task.soft.leaseEndsAt)) return;
  cancelAhead(turn, task);
  turn.tellTask(task, { type: 'LEASE_EXPIRED' });
}

function timeOut(turn: Turn, task: TaskCell): void {
  if (!hasPassed(turn, task.soft.timesOutAt)) return;
  cancelAhead(turn, task);
  const error = `timed out: the attempt ran for more than ${task.row.timeout_seconds} s, ended by the server`;
  turn.tellTask(task, { type: 'TIMEOUT', now: turn.now, error });
}

function missHeartbeat(turn: Turn, worker: WorkerCell): void {
  if (!hasPassed(turn, worker.soft.deadAt)) return;
  worker.update(turn, { deadAt: null });
  turn.tellWorker(worker, { type: 'HEARTBEAT_MISSED' });
}

/** The time of an order to drain a worker is over, unless it was lifted or given anew. */
function endDrainTime(turn: Turn, worker: WorkerCell): Promise<void> | undefined {
  const { takesBackAt } = worker.soft;
  if (takesBackAt === null || takesBackAt > turn.core.clock.monotonic()) return undefined;
  return takeBackAll(turn, worker);
}

/** What waited after a failure takes its place in the queue. */
function endBackoffs(turn: Turn): void {
  const { queue, clock } = turn.core;
  for (const { key, priority, seq } of queue.backoffs.due(turn, clock.monotonic())) {
    queue.index.add(turn, key, priority, seq);
    turn.hasQueued = true;
  }
  armBackoffs(turn.core);
}

/** Paths may be there by now: the worker is tried again with the tasks that name them. */
function forgetMissing(turn: Turn, worker: WorkerCell): void {
  const now = turn.core.clock.monotonic();
  worker.update(turn, { missingPaths: worker.missingPaths.without((_, until) => until <= now) });
  turn.wokenWorkers.add(worker.id);
  armMissing(turn.core, worker);
}

/**
 * A worker that does not list its active tasks has asked for work for a whole TTL although all its slots are
 * taken here: the task that has been inactive longest is taken for gone (docs/semantics.md#leases).
 */
function reclaimStaleSlot(turn: Turn, worker: WorkerCell): void {
  const { hearing, settings } = turn.core;
  const { staleAt, polledUntil } = worker.soft;
  if (!hasPassed(turn, staleAt)) return;
  worker.update(turn, { staleAt: null });
  if (worker.row.slots_used < worker.row.slots_total) return;
  // Once is not "for a whole TTL": its requests, with the time that they wait, go on into the second half.
  if ((polledUntil ?? 0) < hearing.monotonic() - settings.leaseTtl / 2) return;
  const [oldest] = [...worker.held].sort((a, b) => a.soft.lastActivity - b.soft.lastActivity);
  if (!oldest) return;
  cancelAhead(turn, oldest);
  turn.tellTask(oldest, { type: 'LEASE_EXPIRED' });
}
