import type { ActiveTask } from '../../../machines/schema/worker.ts';
import type { Leaving } from '../../../machines/worker/worker.ts';
import { cancelAhead } from '../jobs/bulk-command.ts';
import type { WorkerCell } from '../runtime/actor-cell.ts';
import type { Turn } from '../turn/turn.ts';
import { type Handler, WAITING } from './handler.ts';
import { endDoubt, ownWorker, renew, touch } from './liveness.ts';
import { assertSession } from './session.ts';

/** Characters of the reason why a worker is suspended. */
const LONGEST_REASON = 1000;

/**
 * Keep-alive (docs/protocol.md#heartbeat). Renewal moves deadlines in memory and needs no commit: after a restart
 * every lease starts a full period anyway.
 */
export const heartbeat: Handler<'heartbeat'> = {
  whenStoreFails: 'answer',
  preload: ({ worker_id }) => ({ workers: [worker_id] }),
  handle(
    { principal, worker_id, session, active, suspended, leaving, wait_s, signal },
    { turn, answer, refuse },
  ) {
    const worker = ownWorker(turn, principal, worker_id);
    assertSession(worker, session);
    const { longPolls, settings, clock } = turn.core;
    touch(turn, worker);
    for (const task of worker.held) cancelAhead(turn, task);
    takeCondition(turn, worker, suspended?.slice(0, LONGEST_REASON) || null, leaving);
    // A newer heartbeat releases an older one, which then knows nothing to stop.
    const older = longPolls.takeHeartbeat(turn, worker_id);
    if (older) turn.afterCommit(() => older.answer({ ok: true, cancel_task_ids: [] }));
    // What it lists says more exactly what it holds, and what it must stop.
    if (active) {
      endDoubt(turn, worker);
      worker.revoked.clear(turn);
    }
    const cancel_task_ids = active ? goThrough(turn, worker, active) : renewAll(turn, worker);
    if (cancel_task_ids.length > 0 || wait_s <= 0 || signal?.aborted) return { ok: true, cancel_task_ids };
    const stopping = new Set(active?.filter((task) => task.stopping).map((task) => task.task_id));
    const until = clock.monotonic() + Math.min(wait_s, settings.heartbeatInterval);
    longPolls.addHeartbeat(turn, { worker_id, session, stopping, until, signal, answer, refuse });
    return WAITING;
  },
};

/** Whether it asks for tasks. While the store is away, a later heartbeat tells. */
function takeCondition(turn: Turn, worker: WorkerCell, reason: string | null, leaving?: Leaving): void {
  if (turn.inMemory) return;
  if (reason === null && leaving === undefined) {
    // Nearly all ask anyway, and nothing is sent to those with every heartbeat.
    const { row } = worker;
    if (row.suspended !== null || row.leaving !== null) turn.tellWorker(worker, { type: 'RESUME' });
    return;
  }
  if (reason !== null) turn.tellWorker(worker, { type: 'SUSPEND', reason });
  if (leaving !== undefined) turn.tellWorker(worker, { type: leaving === 'stopped' ? 'STOP' : 'DRAIN' });
}

/**
 * Renews what the worker lists and holds.
 * @returns what it must stop: for its job, for its timeout, or because it does not hold it at that attempt
 */
function goThrough(turn: Turn, worker: WorkerCell, active: readonly ActiveTask[]): string[] {
  const { tasks } = turn.core.directory;
  const toStop: string[] = [];
  for (const { task_id, attempt, stopping } of active) {
    // What is held is in memory; it may list more.
    const task = tasks.get(task_id);
    const holds = task !== undefined && worker.held.has(task) && task.row.attempt === attempt;
    if (holds) renew(turn, task);
    if (!stopping && (!holds || task.row.state === 'stopping')) toStop.push(task_id);
  }
  return toStop;
}

/** The same for a worker that lists nothing: all that it holds is renewed. */
function renewAll(turn: Turn, worker: WorkerCell): string[] {
  for (const task of worker.held) renew(turn, task);
  return worker.toStop;
}
