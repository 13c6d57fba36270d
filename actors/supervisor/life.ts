import { ClusterError } from '../../machines/errors.ts';
import type { Principal } from '../../machines/rights.ts';
import type { WorkerAddress } from './address.ts';
import type { Turn } from './turn.ts';

/** The worker, if it exists and belongs to the principal (contract, "Errors": 404, then 403). */
export function ownWorker(turn: Turn, principal: Principal, workerId: string): WorkerAddress {
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
  const { deadlines, settings, moved } = turn.core;
  deadlines.set(`silence:${worker.id}`, settings.workerDeadAfter);
  // The one time that is true whatever becomes of the turn: it was heard.
  worker.row.last_seen_at = turn.now;
  if (worker.sealed) worker.sealed.last_seen_at = turn.now;
  if (worker.committed) worker.committed.last_seen_at = turn.now;
  moved.workers.add(worker.id);
  if (worker.row.status !== 'dead') return;
  turn.tellWorker(worker, { type: 'HEARTBEAT' });
  // A request for work may have outlived its worker's silence; what was queued meanwhile passed it by.
  turn.woken.add(worker.id);
}
