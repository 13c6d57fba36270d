import type { ActiveTask } from '../../../machines/schema/worker.ts';
import type { WorkerAddress } from '../address.ts';
import { hear, ownWorker, renew, withdrawLeases } from '../life.ts';
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
    const { parking, settings, clock } = turn.core;
    hear(turn, worker);
    suspend(turn, worker, suspended?.slice(0, LONGEST_REASON) || null);
    // A newer heartbeat releases an older one, which then knows nothing to stop.
    const older = parking.takeHeartbeat(turn, worker_id);
    turn.afterCommit(() => older?.answer({ ok: true, cancel_task_ids: [] }));
    worker.note(turn, { listsActive: active !== undefined });
    // What it lists says more exactly what it must stop.
    if (active) worker.revoked.clear(turn);
    renewLeases(turn, worker, active);
    const cancel_task_ids = tasksToStop(turn, worker, active);
    if (cancel_task_ids.length > 0 || wait_s <= 0 || signal?.aborted) return { ok: true, cancel_task_ids };
    const stopping = new Set(active?.filter((task) => task.stopping).map((task) => task.task_id));
    const until = clock.monotonic() + Math.min(wait_s, settings.heartbeatInterval);
    parking.parkHeartbeat(turn, { worker_id, session, stopping, until, signal, answer, refuse });
    return PARKED;
  },
};

/** What it asked for before it fell ill is answered: it wants nothing now. While the store is away, a later one tells. */
function suspend(turn: Turn, worker: WorkerAddress, reason: string | null): void {
  if (turn.inMemory) return;
  if (reason === null) turn.tellWorker(worker, { type: 'RESUME' });
  else if (turn.tellWorker(worker, { type: 'SUSPEND', reason })) withdrawLeases(turn, worker);
}

function renewLeases(turn: Turn, worker: WorkerAddress, active: ActiveTask[] | undefined): void {
  const listed = active && new Map(active.map((task) => [task.task_id, task.attempt]));
  for (const task of turn.heldBy(worker)) {
    if (!listed || listed.get(task.id) === task.row.attempt) renew(turn, task);
  }
}

/** What the worker must stop: for its job, for its timeout, or because it does not hold it at that attempt. */
function tasksToStop(turn: Turn, worker: WorkerAddress, active: ActiveTask[] | undefined): string[] {
  if (!active) return turn.toldToStop(worker);
  return active
    .filter(({ task_id, attempt, stopping }) => {
      if (stopping) return false;
      const row = turn.core.registry.tasks.get(task_id)?.row;
      const holds =
        row !== undefined && isHeld(row) && row.worker_id === worker.id && row.attempt === attempt;
      return !holds || row.state === 'stopping';
    })
    .map((task) => task.task_id);
}
