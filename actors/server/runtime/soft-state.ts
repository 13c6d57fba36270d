/**
 * The soft state of a task, beside its row. It needs no commit and is lost with the process: after a restart
 * every period starts anew (docs/semantics.md#time). Seconds of the hearing clock.
 */
export interface TaskSoftState {
  /** When the lease expires; null while nobody holds it. */
  readonly leaseEndsAt: number | null;
  /** When the server ends the attempt by itself; null where that is not due. */
  readonly timesOutAt: number | null;
  /** When the task itself gave its last sign of life; the quietest of a worker's tasks is the first to be doubted. */
  readonly lastActivity: number;
}

/** The soft state of a worker, beside its row. */
export interface WorkerSoftState {
  /** When it counts as dead; null once it does. */
  readonly deadAt: number | null;
  /** When the server's view of its slots is doubted; null while there is no reason to. */
  readonly staleAt: number | null;
  /** Up to when its last request for work asks; null when it never asked. */
  readonly polledUntil: number | null;
  /** Whether its last heartbeat listed its active tasks. */
  readonly reportsActive: boolean;
  /** Seconds since the epoch; the row follows with the next commit. */
  readonly lastSeenAt: number;
}

export const NOT_HELD: TaskSoftState = { leaseEndsAt: null, timesOutAt: null, lastActivity: 0 };

export const neverHeard = (lastSeenAt: number): WorkerSoftState => ({
  deadAt: null,
  staleAt: null,
  polledUntil: null,
  reportsActive: false,
  lastSeenAt,
});
