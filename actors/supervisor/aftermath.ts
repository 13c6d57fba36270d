import type { Core } from './core.ts';
import { isHeld } from './registry.ts';
import type { SealedTurn } from './sealed.ts';

type Moved = SealedTurn['tasks'][number] & {
  /** Whether it was leased in this turn. */
  leased: boolean;
};

/** Deadlines, and what held-back heartbeats must hear, follow what has been committed. */
export function follow(core: Core, { tasks, workers, leased }: SealedTurn): void {
  const concerned = new Set<string>();
  for (const move of tasks) {
    followTask(core, { ...move, leased: leased.has(move.address) }, concerned);
  }
  // Of silence there is nothing to follow: a deadline that a dead worker has was set by a later sign of life.
  for (const { after } of workers) {
    if (after.slots_used < after.slots_total) core.deadlines.delete(`stale:${after.id}`);
  }
  for (const workerId of concerned) tellHeldBack(core, workerId);
}

function followTask(core: Core, moved: Moved, concerned: Set<string>): void {
  const { before, after: row, leased } = moved;
  const { deadlines, settings, signs } = core;
  const sameLease = !leased && before !== null && isHeld(before) && isHeld(row);
  if (isHeld(row) && !sameLease) {
    deadlines.set(`lease:${row.id}`, settings.leaseTtl);
    signs.set(row.id, core.clock.monotonic());
  }
  const started = row.status === 'running' && before?.status !== 'running';
  if (started && row.timeout_seconds !== null) {
    deadlines.set(`timeout:${row.id}`, row.timeout_seconds + settings.timeoutGrace);
  }
  if (!sameLease) revoke(core, moved, concerned);
  // A new lease to the same worker makes an older word to stop void.
  if (!sameLease && isHeld(row) && row.worker_id) core.revoked.get(row.worker_id)?.delete(row.id);
  if (isHeld(row)) {
    if (row.state === 'stopping' && before?.state !== 'stopping' && row.worker_id)
      concerned.add(row.worker_id);
    return;
  }
  deadlines.delete(`lease:${row.id}`);
  deadlines.delete(`timeout:${row.id}`);
  signs.delete(row.id);
}

/** A task was taken from its worker without a report of that worker: it must be told to stop. */
function revoke(core: Core, { before, after, leased }: Moved, concerned: Set<string>): void {
  if (before === null || !isHeld(before) || before.worker_id === null) return;
  const last = after.last_report;
  const reported = last !== null && last !== before.last_report && last.worker_id === before.worker_id;
  // An undelivered lease gives its attempt back; a new lease may have taken it at once.
  const returned = after.attempt < before.attempt || (leased && after.attempt === before.attempt);
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
    (id) => core.registry.tasks.get(id)?.committed?.state === 'stopping',
  );
  const cancel = [...new Set([...stopping, ...(core.revoked.get(workerId) ?? [])])].filter(
    (id) => !parked.stopping.has(id),
  );
  if (cancel.length > 0) core.parking.releaseHeartbeat(workerId, cancel);
}
