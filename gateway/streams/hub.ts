import { compose, RawJson } from '../../machines/json/raw.ts';
import type { EventSource, LiveEvent } from '../backend.ts';

/** A committed event; its text is made once, and only if somebody listens. */
export class Published {
  readonly event: LiveEvent;
  #text: string | undefined;

  constructor(event: LiveEvent) {
    this.event = event;
  }

  get text(): string {
    this.#text ??= this.event.data instanceof RawJson ? compose(this.event) : JSON.stringify(this.event);
    return this.#text;
  }
}

/** Somebody who follows live events: all, or those of one job. */
export interface Follower {
  readonly jobId: string | undefined;
  /** The events of one commit that are in the follower's scope, in order. Must not throw. */
  publish(batch: readonly Published[]): void;
}

/** Commits bring few events each; this covers what is published while a follower reads its last page. */
const RECENT = 256;

/** One subscription to the committed events, shared by every socket of the gateway. */
export class EventHub {
  readonly #source: EventSource;
  readonly #everything = new Set<Follower>();
  readonly #byJob = new Map<string, Set<Follower>>();
  #recent: Published[] = [];
  /** The id behind which `#recent` holds every event. */
  #recentFrom: number;
  readonly #unsubscribe: () => void;

  constructor(source: EventSource) {
    this.#source = source;
    this.#recentFrom = source.lastId;
    this.#unsubscribe = source.subscribe((events) => this.#deliver(events));
  }

  /** The id of the last event that was published. */
  get lastId(): number {
    return this.#source.lastId;
  }

  follow(follower: Follower): void {
    this.#setFor(follower.jobId).add(follower);
  }

  unfollow(follower: Follower): void {
    const { jobId } = follower;
    const set = jobId === undefined ? this.#everything : this.#byJob.get(jobId);
    set?.delete(follower);
    if (jobId !== undefined && set?.size === 0) this.#byJob.delete(jobId);
  }

  /** What was published behind an id, or null when that is too long ago to be remembered. */
  since(id: number): readonly Published[] | null {
    if (id < this.#recentFrom) return null;
    return this.#recent.filter(({ event }) => event.id > id);
  }

  stop(): void {
    this.#unsubscribe();
    this.#everything.clear();
    this.#byJob.clear();
    this.#recent = [];
  }

  #setFor(jobId: string | undefined): Set<Follower> {
    if (jobId === undefined) return this.#everything;
    const set = this.#byJob.get(jobId) ?? new Set();
    this.#byJob.set(jobId, set);
    return set;
  }

  #deliver(events: readonly LiveEvent[]): void {
    // Of very many that nobody follows, only those that are remembered are looked at.
    const followed = this.#everything.size + this.#byJob.size > 0;
    const batch = (followed ? events : events.slice(-RECENT - 1)).map((event) => new Published(event));
    this.#remember(batch);
    for (const follower of [...this.#everything]) follower.publish(batch);
    if (this.#byJob.size === 0) return;
    for (const [jobId, ofJob] of byJob(batch)) {
      for (const follower of [...(this.#byJob.get(jobId) ?? [])]) follower.publish(ofJob);
    }
  }

  #remember(batch: readonly Published[]): void {
    this.#recent.push(...batch.slice(-RECENT));
    const excess = this.#recent.length - RECENT;
    const forgotten = batch.length > RECENT ? batch[batch.length - RECENT - 1] : this.#recent[excess - 1];
    if (excess > 0) this.#recent.splice(0, excess);
    if (forgotten) this.#recentFrom = forgotten.event.id;
  }
}

function byJob(batch: readonly Published[]): Map<string, Published[]> {
  const jobs = new Map<string, Published[]>();
  for (const published of batch) {
    const { job_id } = published.event;
    if (job_id === null) continue;
    const found = jobs.get(job_id);
    if (found) found.push(published);
    else jobs.set(job_id, [published]);
  }
  return jobs;
}
