import { LONGEST_BACKOFF } from '../../../machines/task/failure.ts';
import type { TaskCell } from '../runtime/actor-cell.ts';
import { armBackoffs } from '../runtime/arm-deadlines.ts';
import type { TaskRow } from '../store/rows.ts';
import type { Turn } from '../turn/turn.ts';
import type { Waiter } from './backoffs.ts';
import { Exclusions } from './exclusions.ts';

/** What a task is queued under where it asks nothing beyond its requirement. */
const plainKey = (turn: Turn, row: Pick<TaskRow, 'requirement_id' | 'timeout_seconds' | 'job_id'>): number =>
  turn.core.queue.keyOf(row, turn.job(row.job_id).row);

/** That of its job: rows of tasks keep the one that they were first queued with. */
export const priorityOf = (turn: Turn, jobId: string): number => turn.job(jobId).row.priority;

/** Puts a queued task into the index, from where this very turn may lease it, unless it has to wait. */
export function enqueue(
  turn: Turn,
  task: Pick<TaskRow, 'requirement_id' | 'timeout_seconds' | 'job_id' | 'avoids' | 'seq' | 'not_before'>,
): void {
  const { avoids, seq, not_before } = task;
  const { clock, queue } = turn.core;
  const { index, exclusions, backoffs } = queue;
  queue.timeJob(turn, turn.job(task.job_id).row, task);
  const requirement = plainKey(turn, task);
  const priority = priorityOf(turn, task.job_id);
  const key = exclusions.enter(turn, seq, { requirement, avoids, paths: [] });
  if (Exclusions.isExclusion(key)) turn.reviewWaiting = true;
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
  const { seq } = row;
  const { index, exclusions, backoffs } = turn.core.queue;
  const key = exclusions.of(seq)?.id ?? plainKey(turn, row);
  const wait = backoffs.remove(turn, seq);
  if (!wait) index.remove(turn, key, priorityOf(turn, row.job_id), seq);
  // After it left the index, so that an undo knows the exclusion again before the index has to file it.
  exclusions.leave(turn, seq);
  return wait;
}

/** A queued task turned out to name paths that some worker lacks; it stays where it is, under another key. */
export function narrow(turn: Turn, task: TaskCell, paths: readonly string[]): void {
  const { index, exclusions, backoffs } = turn.core.queue;
  const { avoids, job_id, seq } = task.row;
  const requirement = plainKey(turn, task.row);
  const known = exclusions.of(seq)?.paths ?? [];
  const wait = dequeue(turn, task.row);
  const key = exclusions.enter(turn, seq, { requirement, avoids, paths: [...new Set([...known, ...paths])] });
  turn.reviewWaiting = true;
  // By its own time: since it began, the wall clock may have been set.
  if (wait) backoffs.add(turn, { ...wait, key });
  else {
    index.add(turn, key, priorityOf(turn, job_id), seq);
    turn.hasQueued = true;
  }
}

/** Queued tasks of a job with the same requirement, by their numbers. */
export interface Alike {
  job_id: string;
  requirement_id: number;
  timeout_seconds: number | null;
  seqs: number[];
}

/** Queued tasks take their places among those of another priority. Whom they may be given to is as before. */
export function moveToPriority(turn: Turn, { seqs, ...of }: Alike, way: { from: number; to: number }): void {
  const { index, exclusions, backoffs } = turn.core.queue;
  const plain: number[] = [];
  for (const seq of seqs) {
    const wait = backoffs.remove(turn, seq);
    const exclusion = exclusions.of(seq);
    if (wait) backoffs.add(turn, { ...wait, priority: way.to });
    else if (exclusion) index.move(turn, exclusion.id, [seq], way);
    else plain.push(seq);
  }
  index.move(turn, plainKey(turn, of), plain, way);
}
