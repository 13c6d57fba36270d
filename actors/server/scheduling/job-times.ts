import type { Journal } from '../turn/journal.ts';
import { type Arrival, Arrivals } from './arrivals.ts';

/** A job of which it is known how long its tasks take. */
class Timed implements Arrival {
  readonly job: number;
  seconds: number;
  /** When that last became less, or was no longer known. */
  arrived = 0;
  isEmpty = false;

  constructor(job: number, seconds: number) {
    this.job = job;
    this.seconds = seconds;
  }
}

/**
 * How long a task of a job is expected to take, by the number of the job; of jobs that are under way and have shown it.
 * Whoever passed by a job for being too long is shown it again when it is not any more.
 */
export class JobTimes {
  readonly #jobs = new Map<number, Timed>();
  readonly #shorter = new Arrivals<Timed>();
  #moment = 0;

  /** Seconds; null where that is not known. */
  of(job: number): number | null {
    return this.#jobs.get(job)?.seconds ?? null;
  }

  /** Counts how often a time became less. */
  get moment(): number {
    return this.#moment;
  }

  set(journal: Journal, job: number, seconds: number): void {
    const before = this.of(job);
    if (seconds === before) return;
    this.#put(job, seconds);
    journal.onRollback(() => this.#put(job, before));
  }

  /** None of its tasks is queued any more. */
  forget(journal: Journal, job: number): void {
    const known = this.#jobs.get(job);
    if (!known) return;
    this.#jobs.delete(job);
    known.isEmpty = true;
    journal.onRollback(() => {
      known.isEmpty = false;
      this.#jobs.set(job, known);
    });
  }

  /** Shows the jobs of which the tasks take less time than at a moment. */
  shorterSince(moment: number, look: (job: number) => void): void {
    if (moment < this.#moment) this.#shorter.since(moment, ({ job }) => look(job));
  }

  #put(job: number, seconds: number | null): void {
    const known = this.#jobs.get(job) ?? new Timed(job, Number.POSITIVE_INFINITY);
    const isLess = this.#jobs.has(job) && (seconds ?? 0) < known.seconds;
    if (seconds === null) this.#jobs.delete(job);
    else {
      known.seconds = seconds;
      this.#jobs.set(job, known);
    }
    if (!isLess) return;
    known.arrived = ++this.#moment;
    this.#shorter.note(known);
  }
}
