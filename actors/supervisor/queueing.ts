import type { TaskAddress } from './address.ts';
import type { Waiter } from './backoffs.ts';
import { armBackoffs } from './passing.ts';
import type { Turn } from './turn.ts';

/** Puts a queued task into the index, from where this very turn may lease it, unless it has to wait. */
export function enqueue(turn: Turn, { row }: TaskAddress): void {
  const { queue, demands, backoffs, clock } = turn.core;
  const { requirement_id, avoids, priority, seq, not_before } = row;
  const key = demands.enter(turn, seq, { requirement: requirement_id, avoids, paths: [] });
  if (key < 0) turn.judge = true;
  if (not_before !== null && not_before > turn.now) {
    backoffs.add(turn, { seq, at: clock.monotonic() + not_before - turn.now, key, priority });
    armBackoffs(turn.core);
    return;
  }
  queue.add(turn, key, priority, seq);
  turn.queuedAny = true;
}

/**
 * A task that is leased was taken out of the index by the one who picked it; others leave from where they stand.
 * @returns its wait, when it had to wait
 */
export function dequeue(
  turn: Turn,
  { row: { requirement_id, priority, seq } }: TaskAddress,
): Waiter | undefined {
  const { queue, demands, backoffs } = turn.core;
  const key = demands.of(seq)?.id ?? requirement_id;
  const wait = backoffs.remove(turn, seq);
  if (!wait) queue.remove(turn, key, priority, seq);
  // After it left the index, so that an undo knows the demand again before the index has to file it.
  demands.leave(turn, seq);
  return wait;
}

/** A queued task turned out to name paths that some worker lacks; it stays where it is, under another key. */
export function narrow(turn: Turn, task: TaskAddress, paths: readonly string[]): void {
  const { queue, demands, backoffs } = turn.core;
  const { requirement_id: requirement, avoids, priority, seq } = task.row;
  const known = demands.of(seq)?.paths ?? [];
  const wait = dequeue(turn, task);
  const key = demands.enter(turn, seq, { requirement, avoids, paths: [...new Set([...known, ...paths])] });
  turn.judge = true;
  // By its own time: since it began, the wall clock may have been set.
  if (wait) backoffs.add(turn, { ...wait, key });
  else {
    queue.add(turn, key, priority, seq);
    turn.queuedAny = true;
  }
}
