import type { Span } from '../scheduling/withheld.ts';
import type { JobRow } from '../store/rows.ts';
import { FOR_GOOD, type Journal, JournaledSet } from '../turn/journal.ts';

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

/** Whether a bulk command is being applied to the tasks of a job: none of them may be leased. */
export const isBulkRunning = ({ state }: Pick<JobRow, 'state'>): boolean =>
  state === 'requeuing' || state === 'telling' || state === 'reusing';

/**
 * How far the jobs are whose tasks are told slice by slice. That it goes on is a state of the job; how far it is, and
 * who waits for its end, is known here only: after a restart it begins anew with those that were not told yet.
 */
export class BulkCommands {
  readonly #byJob = new Map<string, BulkCommand>();

  get size(): number {
    return this.#byJob.size;
  }

  /** Ids of the jobs. */
  jobs(): Iterable<string> {
    return this.#byJob.keys();
  }

  of(jobId: string): BulkCommand | undefined {
    return this.#byJob.get(jobId);
  }

  set(
    journal: Journal,
    jobId: string,
    change: Partial<Pick<BulkCommand, 'reached' | 'chosen' | 'span'>>,
  ): void {
    const before = this.#byJob.get(jobId);
    const started = before ?? { reached: 0, chosen: null, span: null, waiting: new JournaledSet() };
    this.#put(jobId, { ...started, ...change });
    journal.onRollback(() => this.#put(jobId, before));
  }

  delete(journal: Journal, jobId: string): void {
    const before = this.#byJob.get(jobId);
    this.#put(jobId, undefined);
    journal.onRollback(() => this.#put(jobId, before));
  }

  /**
   * Answers all who wait, before the end: the store fails or the server stops, and what they asked for is certain
   * although it is not done yet.
   */
  answerAll(): void {
    for (const { waiting } of this.#byJob.values()) {
      for (const answer of waiting) answer();
      waiting.clear(FOR_GOOD);
    }
  }

  #put(jobId: string, command: BulkCommand | undefined): void {
    if (command) this.#byJob.set(jobId, command);
    else this.#byJob.delete(jobId);
  }
}
