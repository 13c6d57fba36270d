import type { EventView } from '../../machines/schema/views.ts';
import { type History, must } from '../history/history.ts';
import { DAY, HOUR } from './calendar.ts';

/** Seconds after which all that is due has gone: passes of a server come every hour, and look at all jobs anew once a day. */
const SLACK = DAY + 3 * HOUR;
const ENDS = ['job_succeeded', 'job_failed', 'job_cancelled'];

/** What may be deleted of jobs, and what has to be: held against every deletion, and against all jobs every night. */
export class Kept {
  readonly #history: History;
  /** Seconds after the end of a job; 0: for ever. */
  readonly #keepJobs: number;
  /** Job id to the second at which it ended. */
  readonly #ended = new Map<string, number>();
  readonly #pinned = new Set<string>();
  readonly #wished = new Set<string>();
  /** Job id to those that have results of it. */
  readonly #users = new Map<string, Set<string>>();

  constructor(history: History, keepJobs: number) {
    this.#history = history;
    this.#keepJobs = keepJobs;
  }

  pin(job: string): void {
    this.#pinned.add(job);
  }

  /** Its owner asked for its deletion. */
  wish(job: string): void {
    this.#wished.add(job);
  }

  get pinned(): ReadonlySet<string> {
    return this.#pinned;
  }

  /** The second at which a job ended; undefined while it has not. */
  endOf(job: string): number | undefined {
    return this.#ended.get(job);
  }

  /** @throws Error where a job is deleted that has to stay */
  take({ type, job_id, task_id, ts, data }: EventView): void {
    if (job_id === null) return;
    if (ENDS.includes(type)) this.#ended.set(job_id, ts);
    else if (type === 'job_retried') this.#ended.delete(job_id);
    else if (type === 'task_reused') this.#use(job_id, (data.reused_from as { job_id: string }).job_id);
    else if (type === 'job_deleted' && task_id === null) this.#assertDue(job_id, ts, data);
  }

  #use(by: string, job: string): void {
    if (by !== job) this.#users.set(job, (this.#users.get(job) ?? new Set()).add(by));
  }

  #assertDue(job: string, ts: number, data: EventView['data']): void {
    must(!this.#pinned.has(job), `job ${job} was to be kept for ever, and is deleted`);
    const user = this.#userOf(job);
    must(user === undefined, `job ${job} is deleted, and ${user} has results of it`);
    if (data.principal !== undefined) {
      must(this.#wished.has(job), `job ${job} is deleted by ${data.principal}, who did not ask for it`);
      return;
    }
    const age = ts - (this.#ended.get(job) ?? ts);
    must(
      this.#keepJobs > 0 && age >= this.#keepJobs,
      `job ${job} is deleted ${Math.round(age / HOUR)} hours after its end`,
    );
  }

  #userOf(job: string): string | undefined {
    return [...(this.#users.get(job) ?? [])].find((user) => this.#history.jobs.has(user));
  }

  /** @throws Error where a job is there that has long been due */
  assertGone(now: number): void {
    if (this.#keepJobs === 0) return;
    for (const [job, end] of this.#ended) {
      const isOver = end + this.#keepJobs + SLACK < now;
      if (!isOver || this.#pinned.has(job) || !this.#history.jobs.has(job)) continue;
      must(
        this.#userOf(job) !== undefined,
        `job ${job} ended ${Math.round((now - end) / DAY)} days ago, and is not deleted`,
      );
    }
  }
}
