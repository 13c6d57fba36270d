import { ClusterError } from '../../machines/errors.ts';
import type { Principal } from '../../machines/rights.ts';
import type { TaskAddress, WorkerAddress } from './address.ts';
import { storeUnavailable } from './letter.ts';
import type { Turn } from './turn.ts';

/** The worker, if it exists and belongs to the principal (docs/protocol.md#errors: 404, then 403). */
export function ownWorker(turn: Turn, principal: Principal, workerId: string): WorkerAddress {
  // What cannot be read either may be known all the same.
  if (turn.inMemory && !turn.core.registry.workers.has(workerId)) throw storeUnavailable();
  const worker = turn.core.registry.worker(workerId);
  if (worker.row.principal !== principal.name) {
    throw new ClusterError(
      'not_owner',
      `principal '${principal.name}' is not registered for worker ${workerId}`,
    );
  }
  return worker;
}

/** A sign of life of a worker: its silence begins anew, and if it counted as dead it is back. */
export function hear(turn: Turn, worker: WorkerAddress): void {
  worker.note(turn, { silentAt: silentAt(turn), lastSeenAt: turn.now });
  turn.dated.add(worker);
  if (worker.row.status === 'dead') turn.tellWorker(worker, { type: 'HEARTBEAT' });
}

/** When a worker counts as dead of which nothing is heard from now on. */
export const silentAt = ({ core: { hearing, settings } }: Turn): number =>
  hearing.monotonic() + settings.workerDeadAfter;

/** The lease has its full time, and its worker holds the task. */
export function beginLease(turn: Turn, task: TaskAddress, { worker_id }: { worker_id: string }): void {
  const { hearing, settings, registry } = turn.core;
  const now = hearing.monotonic();
  task.note(turn, { leaseEndsAt: now + settings.leaseTtl, lastSign: now });
  const worker = registry.workers.get(worker_id);
  worker?.held.add(turn, task);
  // A new lease to the same worker makes an older word to stop void.
  worker?.revoked.delete(turn, task.id);
}

/** The server ends an attempt by itself that goes on for too long. */
export function beginTimeout(turn: Turn, task: TaskAddress): void {
  const { hearing, settings } = turn.core;
  const { timeout_seconds } = task.row;
  if (timeout_seconds === null) return;
  task.note(turn, { timesOutAt: hearing.monotonic() + timeout_seconds + settings.timeoutGrace });
}

export function endDeadlines(turn: Turn, task: TaskAddress): void {
  task.note(turn, { leaseEndsAt: null, timesOutAt: null });
}

/** The lease has its full time again. */
export function renew(turn: Turn, task: TaskAddress): void {
  const { hearing, settings } = turn.core;
  task.note(turn, { leaseEndsAt: hearing.monotonic() + settings.leaseTtl });
  turn.dated.add(task);
}

/** The worker wants no task any more: its requests that wait are answered with none. */
export function withdrawLeases(turn: Turn, { id }: WorkerAddress): void {
  const { parking } = turn.core;
  for (const { ticket } of parking.leases(id)) {
    const withdrawn = parking.takeLease(turn, ticket);
    turn.afterCommit(() => withdrawn?.answer([]));
  }
}
