/**
 * What a sequence is made of. Things are named by numbers that are taken modulo how many there are, so that any
 * part of a sequence is a sequence too, and a failing one can be cut down.
 */
export interface Submit {
  op: 'submit';
  tasks: number;
  priority: number;
  attempts: number;
  /** A label that the worker must have. */
  site: 'a' | 'b' | null;
  /** Whether the tasks have a timeout. */
  limited: boolean;
  /** Whether a task waits after a failure. */
  patient: boolean;
  key: number | null;
  /** Whether what its tasks are made of is known by content. Such tasks name no path. */
  known: boolean;
  /** Whether what was computed before is used again, and whether the job names the version that it wants. */
  reuse: boolean;
  pinned: boolean;
}
export interface Report {
  op: 'report';
  task: number;
  verb: 'start' | 'complete' | 'fail';
  /** Null: the worker that holds the task, or held it last. */
  by: number | null;
  attempt: 'right' | 'stale' | 'ahead' | 'none';
  retriable: boolean;
  /** Of a failure: whether it is the worker's own fault, and whether that is a path which is missing there. */
  ill: boolean;
  lacks: boolean;
  /** The worker has to end. */
  givesBack: boolean;
}
/** Under which session a worker speaks: none, that of its last registration, one before it, or one that never was. */
export type SessionKind = 'none' | 'newest' | 'older' | 'ahead';
export interface Beat {
  op: 'beat';
  worker: number;
  /** Which of its tasks the worker lists; `null`: no list at all. */
  active: 'all' | 'none' | 'stale' | 'stopping' | 'first' | null;
  wait: number;
  session: SessionKind;
  /** It asks for no tasks at present. */
  suspended: boolean;
}

export type Request =
  | Submit
  | Report
  | Beat
  | { op: 'register'; slots: number; site: 'a' | 'b'; again: number | null }
  | { op: 'lease'; worker: number; max: number; wait: number; session: SessionKind }
  | { op: 'progress'; task: number; by: number | null }
  | { op: 'cancel'; job: number }
  | { op: 'retry'; job: number }
  | Operate;

/** What all jobs of a sequence are of, in the words in which a queue is paused. */
export type Scope = 'all' | 'type' | 'owner';
/** What operators do. */
export type Operate =
  | { op: 'pause'; scope: Scope }
  /** Null: what is paused, if anything is. */
  | { op: 'resume'; scope: Scope | null }
  | { op: 'priority'; job: number; priority: number }
  /** The worker finishes what it has, and is given nothing more. */
  | { op: 'drain'; worker: number }
  /** One that is drained, if any is. */
  | { op: 'undrain'; worker: number };

export type Operation =
  | Request
  /** A worker asks for a task, starts it and completes it. */
  | { op: 'run'; worker: number }
  /** A lease whose answer finds nobody. */
  | { op: 'lost_lease'; worker: number }
  /** A waiting request whose client goes away. */
  | { op: 'hang_up'; which: number }
  | { op: 'pass'; seconds: number }
  | { op: 'jump'; seconds: number }
  /** The server stands still and hears nobody. */
  | { op: 'stand_still'; seconds: number }
  | { op: 'unknown'; request: 'report' | 'cancel' | 'retry' | 'beat' | 'lease' }
  | { op: 'restart' }
  /**
   * The server dies while it handles a request: before it is durable, or when it is but nobody was answered. What
   * takes several commits has made some of them.
   */
  | { op: 'crash'; request: Request; durable: boolean; commits: number }
  /** What takes several commits has made some of them when the store cannot make the next. */
  | { op: 'refuse_slice'; request: Request; commits: number }
  /**
   * The store cannot commit a request; others arrive before it says so. Then the worker that it was about beats, with or
   * without a list, or does not.
   */
  | { op: 'refuse'; request: Request; others: Request[]; listing: boolean | null }
  /** Requests that are under way at the same time. */
  | { op: 'at_once'; requests: Request[]; duringCommit: boolean };

/** Times of the service in seconds, as the sequences are played. Fractions keep deadlines of two kinds apart. */
export const TIMES = {
  leaseTtl: 60,
  deadAfter: 45,
  heartbeatInterval: 10,
  timeout: 36.7,
  timeoutGrace: 60,
  backoff: 13.3,
  longestBackoff: 600,
  /** For which a path stays missing. */
  missing: 600,
  /** Between the ticks of two operations, so that no two of them set the same deadline. */
  tick: 0.001,
} as const;
