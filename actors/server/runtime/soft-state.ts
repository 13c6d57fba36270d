import { type MissingPaths, NOTHING_MISSING } from '../scheduling/missing-paths.ts';
import type { Span } from '../scheduling/withheld.ts';
import type { JournaledSet } from '../turn/journal.ts';

/*
 * What is known of an actor beside its row. It needs no commit and is lost with the process: after a restart every
 * period starts anew (docs/semantics.md#time). What an actor is, its statechart says; here are the times that heartbeats
 * and requests for work move far more often than anything is committed, in seconds of the hearing clock, which paths a
 * worker lacks, and how far a bulk command is.
 */

export interface TaskSoftState {
  /** When the lease expires; null while nobody holds it. */
  readonly leaseEndsAt: number | null;
  /** When the server ends the attempt by itself; null where that is not due. */
  readonly timesOutAt: number | null;
  /** When the task itself gave its last sign of life; the quietest of a worker's tasks is the first to be doubted. */
  readonly lastActivity: number;
}

export interface WorkerSoftState {
  /** When it counts as dead; null once it does. */
  readonly deadAt: number | null;
  /** When the server's view of its slots is doubted; null while there is no reason to. */
  readonly staleAt: number | null;
  /** Up to when its last request for work asks; null when it never asked. */
  readonly polledUntil: number | null;
  /** Seconds since the epoch; the row follows with the next commit. */
  readonly lastSeenAt: number;
  readonly missingPaths: MissingPaths;
  /** Second of the clock, whoever can be heard, at which an order to drain it takes back its tasks; null where none does. */
  readonly takesBackAt: number | null;
}

export interface JobSoftState {
  /** Null while none is being applied to its tasks; that one goes on is a state of the job. */
  readonly bulk: BulkCommand | null;
}

/** A command to all tasks of a job, applied slice by slice: cancel, retry, or reuse results. */
export interface BulkCommand {
  /** Sequence number of the last task that was reached; those that a worker holds are reached out of turn. */
  readonly reached: number;
  /** Numbers of the tasks that it is about, in order; null: all that are in the right state. */
  readonly chosen: readonly number[] | null;
  /** Where the job's tasks stand in the queue, from where they are withheld; null before the first slice is over. */
  readonly span: Span | null;
  /** Answers who asked, once all tasks were reached. */
  readonly waiting: JournaledSet<() => void>;
}

export const NO_BULK: JobSoftState = { bulk: null };

export const NOT_HELD: TaskSoftState = { leaseEndsAt: null, timesOutAt: null, lastActivity: 0 };

export const neverHeard = (lastSeenAt: number): WorkerSoftState => ({
  deadAt: null,
  staleAt: null,
  polledUntil: null,
  lastSeenAt,
  missingPaths: NOTHING_MISSING,
  takesBackAt: null,
});
