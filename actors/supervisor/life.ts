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
  const { hearing, settings } = turn.core;
  worker.note(turn, { silentAt: hearing.monotonic() + settings.workerDeadAfter, lastSeenAt: turn.now });
  turn.dated.add(worker);
  if (worker.row.status !== 'dead') return;
  turn.tellWorker(worker, { type: 'HEARTBEAT' });
  // A request for work may have outlived its worker's silence; what was queued meanwhile passed it by.
  turn.woken.add(worker.id);
  // What it lacks may be missing everywhere by now.
  if (worker.missing.size > 0) turn.judge = true;
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
