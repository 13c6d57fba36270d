import type { ActiveTask } from '../../../machines/schema/worker.ts';
import type { WorkerAddress } from '../address.ts';
import { hear, ownWorker } from '../life.ts';
import { isHeld } from '../registry.ts';
import { assertSession } from '../session.ts';
import type { Turn } from '../turn.ts';
import { PARKED, type Verb } from '../verb.ts';

/** Characters of the reason why a worker is suspended. */
const LONGEST_REASON = 1000;

/**
 * Keep-alive (contract, "Heartbeat"). Renewal moves deadlines in memory and needs no commit: after a restart
 * every lease starts a full period anyway.
 */
export const heartbeat: Verb<'heartbeat'> = {
  whenStoreFails: 'answer',
  run({ principal, worker_id, session, active, suspended, wait_s, signal }, { turn, answer, refuse }) {
    const worker = ownWorker(turn, principal, worker_id);
    assertSession(worker, session);
    const { parking, listing, settings, revoked, clock } = turn.core;
    hear(turn, worker);
    suspend(turn, worker, suspended?.slice(0, LONGEST_REASON) || null);
    // A newer heartbeat releases an older one, which then knows nothing to stop.
    parking.releaseHeartbeat(worker_id);
    if (active) {
      listing.add(worker_id);
      // What it lists says more exactly what it must stop.
      revoked.delete(worker_id);
    } else listing.delete(worker_id);
    renew(turn, worker, active);
    const cancel_task_ids = tasksToStop(turn, worker, active);
    if (cancel_task_ids.length > 0 || wait_s <= 0 || signal?.aborted) return { ok: true, cancel_task_ids };
    const stopping = new Set(active?.filter((task) => task.stopping).map((task) => task.task_id));
    const until = clock.monotonic() + Math.min(wait_s, settings.heartbeatInterval);
    parking.parkHeartbeat({ worker_id, session, stopping, until, signal, answer, refuse });
    turn.onRollback(() => parking.releaseHeartbeat(worker_id));
    return PARKED;
  },
};

/** What it asked for before it fell ill is answered: it wants nothing now. */
function suspend(turn: Turn, worker: WorkerAddress, reason: string | null): void {
  if (reason === null) turn.tellWorker(worker, { type: 'RESUME' });
  else if (turn.tellWorker(worker, { type: 'SUSPEND', reason })) turn.core.parking.withdrawLeases(worker.id);
}

function renew(turn: Turn, worker: WorkerAddress, active: ActiveTask[] | undefined): void {
  const { registry, deadlines, settings, moved } = turn.core;
  const listed = active && new Map(active.map((task) => [task.task_id, task.attempt]));
  for (const id of registry.held.get(worker.id) ?? []) {
    if (listed && listed.get(id) !== registry.tasks.get(id)?.row.attempt) continue;
    // A lease that came due in the meantime has been handed to the next turn; it is too late for it.
    if (!deadlines.has(`lease:${id}`)) continue;
    deadlines.set(`lease:${id}`, settings.leaseTtl);
    moved.tasks.add(id);
  }
}

/** What the worker must stop: for its job, for its timeout, or because it does not hold it at that attempt. */
export function tasksToStop(turn: Turn, worker: WorkerAddress, active: ActiveTask[] | undefined): string[] {
  const { registry, revoked } = turn.core;
  if (active) {
    return active
      .filter(({ task_id, attempt, stopping }) => {
        if (stopping) return false;
        const row = registry.tasks.get(task_id)?.row;
        const holds =
          row !== undefined && isHeld(row) && row.worker_id === worker.id && row.attempt === attempt;
        return !holds || row.state === 'stopping';
      })
      .map((task) => task.task_id);
  }
  const stopping = [...(registry.held.get(worker.id) ?? [])].filter(
    (id) => registry.tasks.get(id)?.row.state === 'stopping',
  );
  return [...new Set([...stopping, ...(revoked.get(worker.id) ?? [])])];
}
