import type { TaskPayload } from '../schema/lease.ts';
import type { FailReport, TaskResult } from '../schema/report.ts';

/** One attempt at a task by one worker: what every report about it names. */
export interface AttemptRef {
  task_id: string;
  attempt: number;
  /** The worker that holds the lease. */
  worker_id: string;
}

/** A task as a lease brought it: what servers may leave out filled in, and the text it came in, numbers as written. */
export interface Lease {
  ref: AttemptRef;
  payload: TaskPayload;
  text: string;
  /** Places of what the server should have said and did not; with any, the attempt fails. */
  missing: readonly string[];
}

/** An attempt that failed. */
export interface Failed {
  verb: 'fail';
  failure: FailReport;
  /** Whether it is a fault of this worker itself, by which the worker judges whether it should go on. */
  own?: boolean;
}

/** How an attempt ended; it is reported with this verb. */
export type Outcome = { verb: 'complete'; result: TaskResult } | Failed;

/**
 * Who stops an attempt: the server, its deadline, the worker program that has to end (`preempted`), or another copy of
 * it that has taken its place.
 */
export type StopReason = 'cancelled' | 'timed_out' | 'preempted' | 'superseded';

/** The server's answer to a report: accepted, or the attempt is not (or no longer) this worker's. */
export type ReportOutcome = 'accepted' | 'not_ours';

export type AttemptInput =
  | { kind: 'leased'; lease: Lease }
  /** A result that an earlier process of this worker saved and could not deliver. */
  | { kind: 'saved'; ref: AttemptRef; outcome: Outcome };

export interface AttemptContext {
  ref: AttemptRef;
  lease: Lease | null;
  outcome: Outcome | null;
  stopping: StopReason | null;
  /** Whether the result stays on disk instead of being delivered now. */
  deferring: boolean;
  /** Artifact ids by role, once uploaded. */
  artifacts: Record<string, string>;
  ended: AttemptOutput['ended'];
}

export type AttemptEvent =
  | { type: 'STOP'; reason: StopReason }
  /** Deliver nothing any more; what is saved waits for the next process of this worker. */
  | { type: 'DEFER' };

export interface AttemptOutput {
  ref: AttemptRef;
  ended: 'reported' | 'not_ours' | 'deferred';
  /** What the attempt says of this worker's health: that all works, which fault it has, or nothing. */
  health: { well: true } | { well: false; why: string } | null;
}

/** What an attempt tells the agent once nothing of the attempt is left to do but to deliver its outcome. */
export interface AttemptSaved {
  type: 'SAVED';
  key: string;
  health: AttemptOutput['health'];
}
