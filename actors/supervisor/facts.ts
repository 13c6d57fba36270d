/**
 * What the server knows of a task beside its row. It needs no commit and is lost with the process: after a restart
 * every period starts anew (docs/semantics.md#time). Seconds of the hearing clock.
 */
export interface TaskFacts {
  /** When the lease lapses; null while nobody holds it. */
  readonly leaseEndsAt: number | null;
  /** When the server ends the attempt by itself; null where that is not due. */
  readonly timesOutAt: number | null;
  /** When the task itself gave its last sign of life; the quietest of a worker's tasks is the first to be doubted. */
  readonly lastSign: number;
}

/** What the server knows of a worker beside its row. */
export interface WorkerFacts {
  /** When it counts as dead; null once it does. */
  readonly silentAt: number | null;
  /** When the server's view of its slots is doubted; null while there is no reason to. */
  readonly doubtAt: number | null;
  /** Up to when its last request for work asks; null when it never asked. */
  readonly askedUntil: number | null;
  /** Whether its last heartbeat listed its active tasks. */
  readonly listsActive: boolean;
  /** Seconds since the epoch; the row follows with the next commit. */
  readonly lastSeenAt: number;
}

export const UNHELD: TaskFacts = { leaseEndsAt: null, timesOutAt: null, lastSign: 0 };

export const unheard = (lastSeenAt: number): WorkerFacts => ({
  silentAt: null,
  doubtAt: null,
  askedUntil: null,
  listsActive: false,
  lastSeenAt,
});
