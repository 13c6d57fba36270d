import type { Bucket } from './bucket.ts';
import type { JobTimes } from './job-times.ts';
import { Line } from './lines.ts';
import type { QueueIndex } from './queue-index.ts';
import type { Seeker } from './shelf.ts';

/** Unused entries that may be kept, beside as many as there are buckets. */
const SPARE = 1000;

/** So many arrivals, beside as many as it holds, are looked at one by one; of more, what may be for it is looked up. */
const FEW = 64;

/** Who has so much time left; absent: without an end. */
export interface TimeLeft {
  readonly times: JobTimes;
  jobOf(key: number): number;
  /** Whether what is under a key ends in time. It stays false, unless the time of its job becomes less. */
  suffices(key: number): boolean;
}

/** For an index in which nothing asks a range or is kept from anybody. */
const ANYBODY: Seeker = { pointIn: () => null, isKept: () => false };

/**
 * What one kind of worker may run of what is queued. It remembers of each bucket once whether it may; those that it may
 * stand in the order they are served, under the number that was next when they were looked at. Numbers only grow
 * without notice: what is in front is put right when it is looked at, and a task that comes before all others of its
 * bucket is an arrival. So it needs no word of what others take, and none of what is rolled back.
 */
export class QueueView {
  readonly #terms: ReadonlySet<string>;
  readonly #passes: (key: number) => boolean;
  readonly #seeker: Seeker;
  /** Larger priorities first. `held`: what stands in the line, at most. */
  #lines: { priority: number; held: number; line: Line }[] = [];
  #seen = 0;
  #opened = 0;
  #shortened = 0;
  readonly #timeLeft: TimeLeft | null;
  /** What takes too long, by its job; what takes too long whatever its job is comes back no more. */
  #tooLong = new Map<number, Set<Bucket>>();

  constructor(
    terms: Iterable<string>,
    passes: (key: number) => boolean,
    seeker = ANYBODY,
    timeLeft: TimeLeft | null = null,
  ) {
    this.#terms = new Set(terms);
    this.#passes = passes;
    this.#seeker = seeker;
    this.#timeLeft = timeLeft;
  }

  /** How many buckets it holds, at most. */
  get held(): number {
    const aside = [...this.#tooLong.values()].reduce((sum, { size }) => sum + size, 0);
    return this.#lines.reduce((sum, { held }) => sum + held, aside);
  }

  /** Looks at everything anew when it is asked next. */
  forget(): void {
    this.#lines = [];
    this.#tooLong = new Map();
    this.#seen = 0;
  }

  /** The bucket whose task is served next; undefined when there is none for it. */
  next(index: QueueIndex): Bucket | undefined {
    this.#catchUp(index);
    this.#reopen(index);
    this.#reconsider();
    for (let i = 0; i < this.#lines.length; ) {
      const { line } = this.#lines[i] as { line: Line };
      const bucket = line.front();
      if (bucket) return bucket;
      if (line.isEmpty) this.#lines.splice(i, 1);
      else i++;
    }
    return undefined;
  }

  #catchUp(index: QueueIndex): void {
    if (this.#seen === index.moment) return;
    const look = (bucket: Bucket) => {
      if (!this.#passes(bucket.key)) return;
      this.#line(bucket);
    };
    if (this.#seen === 0 || index.moment - this.#seen > this.held + FEW) {
      this.forget();
      index.filedFor(this.#seeker, this.#terms, look);
    } else index.arrivedSince(this.#seen, this.#terms, look);
    this.#seen = index.moment;
    if (this.held > SPARE + 2 * index.buckets) this.#tidy();
  }

  /** What was left out while it was shut stands in its place again. */
  #reopen({ openings }: QueueIndex): void {
    openings.since(this.#opened, ({ path }) => {
      for (const { line } of this.#lines) line.reopen(path);
    });
    this.#opened = openings.moment;
  }

  /** What has become short enough stands in its place again. */
  #reconsider(): void {
    if (!this.#timeLeft) return;
    const { times } = this.#timeLeft;
    times.shorterSince(this.#shortened, (job) => {
      const buckets = this.#tooLong.get(job) ?? [];
      this.#tooLong.delete(job);
      for (const bucket of buckets) this.#line(bucket);
    });
    this.#shortened = times.moment;
  }

  #line(bucket: Bucket): void {
    const { head } = bucket;
    if (head === undefined) return;
    const place = this.#placeOf(bucket);
    place.line.push(bucket, head);
    place.held++;
  }

  readonly #admits = (bucket: Bucket): boolean => {
    if (this.#timeLeft === null || this.#timeLeft.suffices(bucket.key)) return true;
    const job = this.#timeLeft.jobOf(bucket.key);
    if (job === 0) return false;
    const others = this.#tooLong.get(job) ?? new Set();
    this.#tooLong.set(job, others.add(bucket));
    return false;
  };

  #placeOf({ priority }: Bucket) {
    const found = this.#lines.find((known) => known.priority === priority);
    if (found) return found;
    const place = { priority, held: 0, line: new Line(this.#admits) };
    this.#lines.push(place);
    this.#lines.sort((a, b) => b.priority - a.priority);
    return place;
  }

  /** Lets go of buckets that are gone, or that stand in it more than once. */
  #tidy(): void {
    for (const place of this.#lines) place.held = place.line.tidy();
    this.#lines = this.#lines.filter(({ line }) => !line.isEmpty);
    for (const [job, buckets] of this.#tooLong) {
      for (const bucket of buckets) if (bucket.isEmpty) buckets.delete(bucket);
      if (buckets.size === 0) this.#tooLong.delete(job);
    }
  }
}
