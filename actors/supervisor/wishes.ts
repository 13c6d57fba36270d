import type { JobRow } from '../store/rows.ts';
import { FOR_GOOD, type Journal, JournaledSet } from './journal.ts';
import type { Span } from './withheld.ts';

/** A wish of a person that is being told to the tasks of a job. */
export interface Wish {
  /** Sequence number of the last task that was told; those that a worker holds are told out of turn. */
  readonly told: number;
  /** Numbers of the tasks that it is about, in order; null: all that are in the right state. */
  readonly chosen: readonly number[] | null;
  /** Where the job's tasks stand in the queue, from where they are withheld; null before the first slice is over. */
  readonly span: Span | null;
  /** Answers who asked, once all have been told. */
  readonly waiting: JournaledSet<() => void>;
}

/** Whether the tasks of a job are just being told what a person wished: none of them may be leased. */
export const isTelling = ({ state }: Pick<JobRow, 'state'>): boolean =>
  state === 'requeuing' || state === 'telling' || state === 'reusing';

/**
 * How far the jobs are whose tasks are told slice by slice. That it goes on is a state of the job; how far it is, and
 * who waits for its end, is known here only: after a restart it begins anew with those that were not told yet.
 */
export class Wishes {
  readonly #byJob = new Map<string, Wish>();

  get size(): number {
    return this.#byJob.size;
  }

  /** Ids of the jobs. */
  jobs(): Iterable<string> {
    return this.#byJob.keys();
  }

  of(jobId: string): Wish | undefined {
    return this.#byJob.get(jobId);
  }

  set(journal: Journal, jobId: string, change: Partial<Pick<Wish, 'told' | 'chosen' | 'span'>>): void {
    const before = this.#byJob.get(jobId);
    const started = before ?? { told: 0, chosen: null, span: null, waiting: new JournaledSet() };
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

  #put(jobId: string, wish: Wish | undefined): void {
    if (wish) this.#byJob.set(jobId, wish);
    else this.#byJob.delete(jobId);
  }
}
