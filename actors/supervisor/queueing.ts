import type { TaskAddress } from './address.ts';
import { armBackoffs } from './passing.ts';
import type { Turn } from './turn.ts';

/**
 * Puts a queued task into the index, from where this very turn may lease it, unless it has to wait.
 * @param paths those that it names and that some worker lacks
 */
export function enqueue(turn: Turn, { row }: TaskAddress, paths: readonly string[] = []): void {
  const { queue, demands, backoffs, clock } = turn.core;
  const { requirement_id, avoids, priority, seq, not_before } = row;
  const key = demands.enter(turn, seq, { requirement: requirement_id, avoids, paths });
  if (key < 0) turn.judge = true;
  if (not_before !== null && not_before > turn.now) {
    backoffs.add(turn, { seq, at: clock.monotonic() + not_before - turn.now, key, priority });
    armBackoffs(turn.core);
    return;
  }
  queue.add(turn, key, priority, seq);
  turn.queuedAny = true;
}

/** A task that is leased was taken out of the index by the one who picked it; others leave from where they stand. */
export function dequeue(turn: Turn, { row: { requirement_id, priority, seq } }: TaskAddress): void {
  const { queue, demands, backoffs } = turn.core;
  const key = demands.of(seq)?.id ?? requirement_id;
  if (!backoffs.remove(turn, seq)) queue.remove(turn, key, priority, seq);
  // After it left the index, so that an undo knows the demand again before the index has to file it.
  demands.leave(turn, seq);
}

/** A queued task turned out to name paths that some worker lacks. */
export function narrow(turn: Turn, task: TaskAddress, paths: readonly string[]): void {
  const known = turn.core.demands.of(task.row.seq)?.paths ?? [];
  dequeue(turn, task);
  enqueue(turn, task, [...new Set([...known, ...paths])]);
}
