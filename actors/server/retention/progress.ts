/** What is deleted. */
export const KINDS = ['jobs', 'tasks', 'events', 'artifacts', 'objects', 'workers'] as const;
export type Kind = (typeof KINDS)[number];

/** What has been deleted since the start of the server, for metrics and the log. */
export class Progress {
  readonly counts: Record<Kind, number> = {
    jobs: 0,
    tasks: 0,
    events: 0,
    artifacts: 0,
    objects: 0,
    workers: 0,
  };
  /** Bytes of objects that were removed. */
  freedBytes = 0;
  /** When the last pass ended, seconds since the epoch; null before the first. */
  lastPassAt: number | null = null;
  /** Passes that could not be ended. */
  failedPasses = 0;
  /** Bytes that store and artifacts took when they were last counted; null without a limit. */
  usedBytes: number | null = null;
  /** When it was last said that they come near the limit, on the monotonic clock; null while they do not. */
  warnedAt: number | null = null;

  /** When it was last looked for bytes that nobody names, on the monotonic clock; null before the first time. */
  leftoversAt: number | null = null;

  deleted(counts: Partial<Record<Kind, number>>): void {
    for (const [kind, count] of Object.entries(counts)) this.counts[kind as Kind] += count;
  }
}
