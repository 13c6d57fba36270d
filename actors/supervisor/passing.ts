import type { TaskAddress, WorkerAddress } from './address.ts';
import type { DeadlineKey } from './core.ts';
import { armBackoffs, armMissing } from './due.ts';
import { goOnTelling } from './telling.ts';
import type { Turn } from './turn.ts';

/** What the passing of time does, as a part of a turn; a promise where it takes long. */
export function passDeadline(turn: Turn, key: DeadlineKey): Promise<void> | undefined {
  const [kind, id] = [key.slice(0, key.indexOf(':')), key.slice(key.indexOf(':') + 1)];
  const { tasks, workers } = turn.core.registry;
  const [task, worker] = [tasks.get(id), workers.get(id)];
  if (worker) turn.pins.worker(worker);
  if (kind === 'telling') return goOnTelling(turn, id);
  if (kind === 'lease' && task) lapse(turn, task);
  else if (kind === 'timeout' && task) timeOut(turn, task);
  else if (kind === 'silence' && worker) fallSilent(turn, worker);
  else if (kind === 'backoff') endBackoffs(turn);
  else if (kind === 'missing' && worker) forgetMissing(turn, worker);
  else if (worker) doubtView(turn, worker);
  return undefined;
}

/** Whether it is over by now, and was not moved on by what has been handled since it came due. */
const isOver = ({ core }: Turn, at: number | null): boolean => at !== null && at <= core.hearing.monotonic();

function lapse(turn: Turn, task: TaskAddress): void {
  if (isOver(turn, task.facts.leaseEndsAt)) turn.tellTask(task, { type: 'LAPSE' });
}

function timeOut(turn: Turn, task: TaskAddress): void {
  if (!isOver(turn, task.facts.timesOutAt)) return;
  const error = `timed out: the attempt ran for more than ${task.row.timeout_seconds} s, ended by the server`;
  turn.tellTask(task, { type: 'TIMEOUT', now: turn.now, error });
}

function fallSilent(turn: Turn, worker: WorkerAddress): void {
  if (!isOver(turn, worker.facts.silentAt)) return;
  worker.note(turn, { silentAt: null });
  turn.tellWorker(worker, { type: 'SILENCE' });
}

/** What waited after a failure takes its place in the queue. */
function endBackoffs(turn: Turn): void {
  const { backoffs, queue, clock } = turn.core;
  for (const { key, priority, seq } of backoffs.due(turn, clock.monotonic())) {
    queue.add(turn, key, priority, seq);
    turn.queuedAny = true;
  }
  armBackoffs(turn.core);
}

/** Paths may be there by now: the worker is tried again with the tasks that name them. */
function forgetMissing(turn: Turn, worker: WorkerAddress): void {
  const now = turn.core.clock.monotonic();
  worker.missing.forget(turn, (_, until) => until <= now);
  turn.woken.add(worker.id);
  armMissing(turn.core, worker);
}

/**
 * A worker that does not list its active tasks has asked for work for a whole TTL although all its slots are
 * taken here: its task with the oldest sign of life is taken for gone (docs/semantics.md#leases).
 */
function doubtView(turn: Turn, worker: WorkerAddress): void {
  const { hearing, settings } = turn.core;
  const { doubtAt, listsActive, askedUntil } = worker.facts;
  if (!isOver(turn, doubtAt)) return;
  worker.note(turn, { doubtAt: null });
  if (listsActive || worker.row.slots_used < worker.row.slots_total) return;
  // Once is not "for a whole TTL": its requests, with the time that they wait, go on into the second half.
  if ((askedUntil ?? 0) < hearing.monotonic() - settings.leaseTtl / 2) return;
  const [oldest] = worker.durablyHeld.sort((a, b) => a.facts.lastSign - b.facts.lastSign);
  if (oldest && !turn.isLeasedAnew(oldest)) turn.tellTask(oldest, { type: 'LAPSE' });
}
