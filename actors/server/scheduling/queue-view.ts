import FlatQueue from 'flatqueue';
import type { Bucket } from './bucket.ts';
import type { QueueIndex } from './queue-index.ts';
import type { Seeker } from './shelf.ts';

/** Unused entries that may be kept, beside as many as there are buckets. */
const SPARE = 1000;

/** So many arrivals, beside as many as it holds, are looked at one by one; of more, what may be for it is looked up. */
const FEW = 64;

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
  /** Larger priorities first. */
  #lines: { priority: number; queue: FlatQueue<Bucket> }[] = [];
  #seen = 0;
  #held = 0;

  constructor(terms: Iterable<string>, passes: (key: number) => boolean, seeker = ANYBODY) {
    this.#terms = new Set(terms);
    this.#passes = passes;
    this.#seeker = seeker;
  }

  /** How many buckets it holds. */
  get held(): number {
    return this.#held;
  }

  /** Looks at everything anew when it is asked next. */
  forget(): void {
    this.#lines = [];
    this.#seen = 0;
    this.#held = 0;
  }

  /** The bucket whose task is served next; undefined when there is none for it. */
  next(index: QueueIndex): Bucket | undefined {
    this.#catchUp(index);
    for (;;) {
      const line = this.#lines[0];
      if (!line) return undefined;
      const bucket = this.#front(line.queue);
      if (bucket) return bucket;
      this.#lines.shift();
    }
  }

  #catchUp(index: QueueIndex): void {
    if (this.#seen === index.moment) return;
    const look = (bucket: Bucket) => {
      if (!this.#passes(bucket.key)) return;
      const { head } = bucket;
      if (head !== undefined) this.#lineOf(bucket.priority).push(bucket, head);
    };
    if (this.#seen === 0 || index.moment - this.#seen > this.#held + FEW) {
      this.forget();
      index.filedFor(this.#seeker, this.#terms, look);
    } else index.arrivedSince(this.#seen, this.#terms, look);
    this.#seen = index.moment;
    this.#held = this.#lines.reduce((sum, { queue }) => sum + queue.length, 0);
    if (this.#held > SPARE + 2 * index.buckets) this.#tidy();
  }

  #lineOf(priority: number): FlatQueue<Bucket> {
    const found = this.#lines.find((line) => line.priority === priority);
    if (found) return found.queue;
    const queue = new FlatQueue<Bucket>();
    this.#lines.push({ priority, queue });
    this.#lines.sort((a, b) => b.priority - a.priority);
    return queue;
  }

  #front(queue: FlatQueue<Bucket>): Bucket | undefined {
    for (let bucket = queue.peek(); bucket; bucket = queue.peek()) {
      const { head } = bucket;
      if (head === queue.peekValue()) return bucket;
      queue.pop();
      if (head !== undefined) queue.push(bucket, head);
    }
    return undefined;
  }

  /** Lets go of buckets that are gone, or that stand in it more than once. */
  #tidy(): void {
    this.#held = 0;
    for (const { queue } of this.#lines) {
      const kept = new Set(queue.ids.slice(0, queue.length));
      queue.clear();
      for (const bucket of kept) if (bucket.head !== undefined) queue.push(bucket, bucket.head);
      queue.shrink();
      this.#held += queue.length;
    }
  }
}
