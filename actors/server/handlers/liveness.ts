import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { Principal } from '../../../machines/protocol/rights.ts';
import type { DrainOrder } from '../../../machines/worker/worker.ts';
import type { TaskCell, WorkerCell } from '../runtime/actor-cell.ts';
import { storeUnavailable } from '../turn/envelope.ts';
import type { Turn } from '../turn/turn.ts';

/** The worker, if it exists and belongs to the principal (docs/protocol.md#errors: 404, then 403). */
export function ownWorker(turn: Turn, principal: Principal, workerId: string): WorkerCell {
  // What cannot be read either may be known all the same.
  if (turn.inMemory && !turn.core.directory.workers.has(workerId)) throw storeUnavailable();
  const worker = turn.worker(workerId);
  if (worker.row.principal !== principal.name) {
    throw new ClusterError(
      'not_owner',
      `principal '${principal.name}' is not registered for worker ${workerId}`,
    );
  }
  return worker;
}

/** A sign of life of a worker: its silence begins anew, and if it counted as dead it is back. */
export function touch(turn: Turn, worker: WorkerCell): void {
  worker.update(turn, { deadAt: deadAt(turn), lastSeenAt: turn.now });
  turn.core.directory.unwritten.add(worker);
  if (worker.row.status === 'dead') turn.tellWorker(worker, { type: 'HEARTBEAT' });
}

/** When a worker counts as dead of which nothing is heard from now on. */
export const deadAt = ({ core: { hearing, settings } }: Turn): number =>
  hearing.monotonic() + settings.workerDeadAfter;

/**
 * When the tasks of a worker that is drained are taken back; null: never. Should the wall clock have been set back since,
 * it is not longer until then than was ordered.
 */
export function takesBackAt({ core: { clock } }: Turn, order: DrainOrder | null): number | null {
  if (order === null || order.takes_back_at === null) return null;
  const left = Math.min(order.takes_back_at - order.at, order.takes_back_at - clock.now());
  return clock.monotonic() + left;
}

/** The lease has its full time, and its worker holds the task. */
export function beginLease(turn: Turn, task: TaskCell, { worker_id }: { worker_id: string }): void {
  const { hearing, settings } = turn.core;
  const now = hearing.monotonic();
  task.update(turn, { leaseEndsAt: now + settings.leaseTtl, lastActivity: now });
  const worker = turn.findWorker(worker_id);
  worker?.held.add(turn, task);
  // A new lease to the same worker replaces an earlier request to stop.
  worker?.revoked.delete(turn, task.id);
}

/** The server ends an attempt by itself that goes on for too long. */
export function beginTimeout(turn: Turn, task: TaskCell): void {
  const { hearing, settings } = turn.core;
  const { timeout_seconds } = task.row;
  if (timeout_seconds === null) return;
  task.update(turn, { timesOutAt: hearing.monotonic() + timeout_seconds + settings.timeoutGrace });
}

/** Nothing speaks against the server's view of its slots. */
export function endDoubt(turn: Turn, worker: WorkerCell): void {
  if (worker.soft.staleAt !== null) worker.update(turn, { staleAt: null });
}

export function endDeadlines(turn: Turn, task: TaskCell): void {
  task.update(turn, { leaseEndsAt: null, timesOutAt: null });
}

/** The lease has its full time again. */
export function renew(turn: Turn, task: TaskCell): void {
  const { hearing, settings, directory } = turn.core;
  task.update(turn, { leaseEndsAt: hearing.monotonic() + settings.leaseTtl });
  directory.unwritten.add(task);
}

/** The worker wants no task any more: its requests that wait are answered with none. */
export function releaseWaitingLeases(turn: Turn, { id }: WorkerCell): void {
  const { longPolls } = turn.core;
  for (const { ticket } of longPolls.leases(id)) {
    const withdrawn = longPolls.takeLease(turn, ticket);
    turn.afterCommit(() => withdrawn?.answer([]));
  }
}
