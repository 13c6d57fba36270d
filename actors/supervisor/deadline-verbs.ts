import type { DeadlineKey } from './core.ts';
import { isHeld } from './registry.ts';
import type { Turn } from './turn.ts';

/**
 * What the passing of time does, as a part of a turn. Each deadline comes back on rollback, a moment later,
 * since the store that failed is not likely to work at once.
 */
export function passDeadline(turn: Turn, key: DeadlineKey): void {
  const { deadlines, settings } = turn.core;
  turn.onRollback(() => {
    if (!deadlines.has(key)) deadlines.set(key, settings.probeInterval);
  });
  const [kind, id] = [key.slice(0, key.indexOf(':')), key.slice(key.indexOf(':') + 1)];
  if (kind === 'lease') lapse(turn, id);
  else if (kind === 'timeout') timeOut(turn, id);
  else if (kind === 'silence') fallSilent(turn, id);
  else doubtView(turn, id);
}

function lapse(turn: Turn, taskId: string): void {
  const task = turn.core.registry.tasks.get(taskId);
  // Renewed by a heartbeat of the same turn, or ended by a report: then there is nothing to lapse.
  if (!task || !isHeld(task.row) || turn.core.deadlines.has(`lease:${taskId}`)) return;
  // It went to the next worker just before; that lease gets its deadline with its commit.
  if (turn.isLeasedAnew(task)) return;
  turn.tellTask(task, { type: 'LAPSE' });
}

function timeOut(turn: Turn, taskId: string): void {
  const task = turn.core.registry.tasks.get(taskId);
  if (task?.row.status !== 'running') return;
  const error = `timed out: the attempt ran for more than ${task.row.timeout_seconds} s, ended by the server`;
  turn.tellTask(task, { type: 'TIMEOUT', now: turn.now, error });
}

function fallSilent(turn: Turn, workerId: string): void {
  const worker = turn.core.registry.workers.get(workerId);
  if (!worker || turn.core.deadlines.has(`silence:${workerId}`)) return;
  turn.tellWorker(worker, { type: 'SILENCE' });
}

/**
 * A worker that does not list its active tasks has asked for work for a whole TTL although all its slots are
 * taken here: its task with the oldest sign of life is taken for gone (contract, "Lease").
 */
function doubtView(turn: Turn, workerId: string): void {
  const { registry, listing, askedUntil, clock, settings, signs } = turn.core;
  const worker = registry.workers.get(workerId);
  if (!worker || listing.has(workerId) || worker.row.slots_used < worker.row.slots_total) return;
  // Once is not "for a whole TTL": its requests, with the time that they wait, go on into the second half.
  const stillAsking = (askedUntil.get(workerId) ?? 0) >= clock.monotonic() - settings.leaseTtl / 2;
  if (!stillAsking) return;
  const held = [...(registry.held.get(workerId) ?? [])];
  held.sort((a, b) => (signs.get(a) ?? 0) - (signs.get(b) ?? 0));
  const oldest = held[0] === undefined ? undefined : registry.tasks.get(held[0]);
  if (oldest && !turn.isLeasedAnew(oldest)) turn.tellTask(oldest, { type: 'LAPSE' });
}
