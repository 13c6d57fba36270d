import type { ActiveTask } from '../../../machines/schema/worker.ts';
import type { Leaving } from '../../../machines/worker.ts';
import type { WorkerAddress } from '../address.ts';
import { hear, ownWorker, renew, withdrawLeases } from '../life.ts';
import { isHeld } from '../registry.ts';
import { assertSession } from '../session.ts';
import { tellAhead } from '../telling.ts';
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
  run(
    { principal, worker_id, session, active, suspended, leaving, wait_s, signal },
    { turn, answer, refuse },
  ) {
    const worker = ownWorker(turn, principal, worker_id);
    assertSession(worker, session);
    const { parking, settings, clock } = turn.core;
    hear(turn, worker);
    for (const task of turn.heldBy(worker)) tellAhead(turn, task);
    takeStanding(turn, worker, suspended?.slice(0, LONGEST_REASON) || null, leaving);
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

/**
 * Whether it asks for tasks. What it asked for before it fell ill, or was told to end, is answered: it wants nothing now.
 * While the store is away, a later heartbeat tells.
 */
function takeStanding(turn: Turn, worker: WorkerAddress, reason: string | null, leaving?: Leaving): void {
  if (turn.inMemory) return;
  if (reason === null && leaving === undefined) return void turn.tellWorker(worker, { type: 'RESUME' });
  const ill = reason !== null && turn.tellWorker(worker, { type: 'SUSPEND', reason });
  const leaves =
    leaving !== undefined && turn.tellWorker(worker, { type: leaving === 'stopped' ? 'STOP' : 'DRAIN' });
  if (ill || leaves) withdrawLeases(turn, worker);
  if (leaving !== 'stopped') return;
  // Nobody has to wait for its silence.
  worker.note(turn, { silentAt: null });
  turn.judge = true;
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
