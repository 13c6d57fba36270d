import { LONGEST_BACKOFF } from '../../../machines/task/failure.ts';
import type { TaskCell } from '../runtime/actor-cell.ts';
import { armBackoffs } from '../runtime/arm-deadlines.ts';
import type { TaskRow } from '../store/rows.ts';
import type { Turn } from '../turn/turn.ts';
import type { Waiter } from './backoffs.ts';
import { Demands } from './demands.ts';

/** What a task is queued under where it asks nothing beyond its requirement. */
const plainKey = ({ core }: Turn, row: Pick<TaskRow, 'requirement_id' | 'job_id'>): number =>
  core.queue.keyOf(row, core.directory.jobs.get(row.job_id)?.row);

/** Puts a queued task into the index, from where this very turn may lease it, unless it has to wait. */
export function enqueue(
  turn: Turn,
  {
    requirement_id,
    job_id,
    avoids,
    priority,
    seq,
    not_before,
  }: Pick<TaskRow, 'requirement_id' | 'job_id' | 'avoids' | 'priority' | 'seq' | 'not_before'>,
): void {
  const {
    clock,
    queue: { index, demands, backoffs },
  } = turn.core;
  const requirement = plainKey(turn, { requirement_id, job_id });
  const key = demands.enter(turn, seq, { requirement, avoids, paths: [] });
  if (Demands.isDemand(key)) turn.reviewWaiting = true;
  if (not_before !== null && not_before > turn.now) {
    // Should the wall clock have been set back meanwhile, it waits no longer than any.
    const left = Math.min(LONGEST_BACKOFF, not_before - turn.now);
    backoffs.add(turn, { seq, at: clock.monotonic() + left, key, priority });
    armBackoffs(turn.core);
    return;
  }
  index.add(turn, key, priority, seq);
  turn.hasQueued = true;
}

/**
 * Takes a task out from where it stands.
 * @returns its wait, when it had to wait
 */
export function dequeue(turn: Turn, row: TaskRow): Waiter | undefined {
  const { priority, seq } = row;
  const { index, demands, backoffs } = turn.core.queue;
  const key = demands.of(seq)?.id ?? plainKey(turn, row);
  const wait = backoffs.remove(turn, seq);
  if (!wait) index.remove(turn, key, priority, seq);
  // After it left the index, so that an undo knows the demand again before the index has to file it.
  demands.leave(turn, seq);
  return wait;
}

/** A queued task turned out to name paths that some worker lacks; it stays where it is, under another key. */
export function narrow(turn: Turn, task: TaskCell, paths: readonly string[]): void {
  const { index, demands, backoffs } = turn.core.queue;
  const { avoids, priority, seq } = task.row;
  const requirement = plainKey(turn, task.row);
  const known = demands.of(seq)?.paths ?? [];
  const wait = dequeue(turn, task.row);
  const key = demands.enter(turn, seq, { requirement, avoids, paths: [...new Set([...known, ...paths])] });
  turn.reviewWaiting = true;
  // By its own time: since it began, the wall clock may have been set.
  if (wait) backoffs.add(turn, { ...wait, key });
  else {
    index.add(turn, key, priority, seq);
    turn.hasQueued = true;
  }
}

/** A queued task takes its place among those of another priority. Whom it may be given to is as before. */
export function moveToPriority(
  turn: Turn,
  row: Pick<TaskRow, 'requirement_id' | 'job_id' | 'priority' | 'seq'>,
  priority: number,
): void {
  const { index, demands, backoffs } = turn.core.queue;
  const { seq } = row;
  const wait = backoffs.remove(turn, seq);
  if (wait) {
    backoffs.add(turn, { ...wait, priority });
    return;
  }
  const key = demands.of(seq)?.id ?? plainKey(turn, row);
  index.remove(turn, key, row.priority, seq);
  index.add(turn, key, priority, seq);
}
