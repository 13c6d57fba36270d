import type { TaskRow } from '../store/rows.ts';
import type { TaskAddress, WorkerAddress } from './address.ts';
import type { Core } from './core.ts';
import { isHeld } from './registry.ts';
import type { Turn } from './turn.ts';

/** What a turn changed of each task and worker, taken down before the turn is accepted. */
export type Before = { tasks: [TaskAddress, TaskRow | null][]; workers: WorkerAddress[] };

export const beforeOf = (turn: Turn): Before => ({
  tasks: [...turn.tasks].map((task) => [task, task.committed]),
  workers: [...turn.workers],
});

/** Deadlines, and what held-back heartbeats must hear, follow what has been committed. */
export function follow(core: Core, { tasks, workers }: Before): void {
  const concerned = new Set<string>();
  for (const [task, before] of tasks) followTask(core, task, before, concerned);
  for (const worker of workers) {
    if (worker.row.status === 'dead') core.deadlines.delete(`silence:${worker.id}`);
    if (worker.row.slots_used < worker.row.slots_total) core.deadlines.delete(`stale:${worker.id}`);
  }
  for (const workerId of concerned) tellHeldBack(core, workerId);
}

function followTask(core: Core, task: TaskAddress, before: TaskRow | null, concerned: Set<string>): void {
  const { row } = task;
  const { deadlines, settings, signs } = core;
  const sameLease = before !== null && isHeld(before) && isHeld(row) && before.attempt === row.attempt;
  if (isHeld(row) && !sameLease) {
    deadlines.set(`lease:${task.id}`, settings.leaseTtl);
    signs.set(task.id, core.clock.monotonic());
  }
  const started = row.status === 'running' && before?.status !== 'running';
  if (started && row.timeout_seconds !== null) {
    deadlines.set(`timeout:${task.id}`, row.timeout_seconds + settings.timeoutGrace);
  }
  if (!sameLease) revoke(core, before, row, concerned);
  // A new lease to the same worker makes an older word to stop void.
  if (!sameLease && isHeld(row) && row.worker_id) core.revoked.get(row.worker_id)?.delete(task.id);
  if (isHeld(row)) {
    if (row.state === 'stopping' && before?.state !== 'stopping' && row.worker_id)
      concerned.add(row.worker_id);
    return;
  }
  deadlines.delete(`lease:${task.id}`);
  deadlines.delete(`timeout:${task.id}`);
  signs.delete(task.id);
}

/** A task was taken from its worker without a report of that worker: it must be told to stop. */
function revoke(core: Core, before: TaskRow | null, after: TaskRow, concerned: Set<string>): void {
  if (before === null || !isHeld(before) || before.worker_id === null) return;
  const last = after.last_report;
  const reported = last !== null && last !== before.last_report && last.worker_id === before.worker_id;
  const returned = after.attempt < before.attempt;
  if (reported || returned) return;
  const list = core.revoked.get(before.worker_id) ?? new Set<string>();
  core.revoked.set(before.worker_id, list.add(before.id));
  concerned.add(before.worker_id);
}

/** Answers a worker's held-back heartbeat when there is something it has to stop. */
function tellHeldBack(core: Core, workerId: string): void {
  const parked = core.parking.heartbeats.get(workerId);
  if (!parked) return;
  const stopping = [...(core.registry.held.get(workerId) ?? [])].filter(
    (id) => core.registry.tasks.get(id)?.row.state === 'stopping',
  );
  const cancel = [...new Set([...stopping, ...(core.revoked.get(workerId) ?? [])])].filter(
    (id) => !parked.stopping.has(id),
  );
  if (cancel.length > 0) core.parking.releaseHeartbeat(workerId, cancel);
}
