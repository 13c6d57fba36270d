import type { TaskEvent } from '../../machines/task.ts';
import type { TaskRow } from '../store/rows.ts';
import type { TaskAddress, WorkerAddress } from './address.ts';
import { FOR_GOOD } from './journal.ts';
import type { Parking } from './parking.ts';
import { isHeld } from './registry.ts';
import type { Turn } from './turn.ts';

/** How a task leaves its worker with that worker's knowledge; in every other case it must be told to stop. */
const BY_THE_WORKER: ReadonlySet<TaskEvent['type']> = new Set(['COMPLETE', 'FAIL', 'RETURN']);

/** What a move of a task means for its deadlines and for what its worker has to hear, as a part of the same turn. */
export function followTask(turn: Turn, task: TaskAddress, before: TaskRow, event: TaskEvent): void {
  const { hearing, settings } = turn.core;
  const { row } = task;
  const now = hearing.monotonic();
  if (isHeld(row) && !isHeld(before)) {
    task.note(turn, { leaseEndsAt: now + settings.leaseTtl, lastSign: now });
    // A new lease to the same worker makes an older word to stop void.
    holderOf(turn, row)?.revoked.delete(turn, task.id);
  }
  if (row.status === 'running' && before.status !== 'running' && row.timeout_seconds !== null) {
    task.note(turn, { timesOutAt: now + row.timeout_seconds + settings.timeoutGrace });
  }
  if (row.state === 'stopping' && before.state !== 'stopping') addIf(turn.concerned, holderOf(turn, row));
  if (isHeld(row) || !isHeld(before)) return;
  task.note(turn, { leaseEndsAt: null, timesOutAt: null });
  if (BY_THE_WORKER.has(event.type)) return;
  const holder = holderOf(turn, before);
  holder?.revoked.add(turn, task.id);
  addIf(turn.concerned, holder);
}

/** Answers a worker's held-back heartbeat when there is something that it has to stop, and does not know of. */
export function tellHeldBack(parking: Parking, { id }: WorkerAddress, toStop: readonly string[]): void {
  const stopping = parking.heartbeatOf(id)?.stopping;
  const cancel_task_ids = toStop.filter((task) => !stopping?.has(task));
  if (cancel_task_ids.length > 0) parking.takeHeartbeat(FOR_GOOD, id)?.answer({ ok: true, cancel_task_ids });
}

const holderOf = ({ core }: Turn, { worker_id }: TaskRow): WorkerAddress | undefined =>
  worker_id === null ? undefined : core.registry.workers.get(worker_id);

function addIf<T>(set: Set<T>, value: T | undefined): void {
  if (value !== undefined) set.add(value);
}
