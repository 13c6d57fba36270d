import type { Bucket } from './bucket.ts';
import { FifoLine, type Line, PartyLine } from './lines.ts';
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
  #lines: { priority: number; line: Line }[] = [];
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
      const first = this.#lines[0];
      if (!first) return undefined;
      const bucket = first.line.front(index.isShut);
      if (bucket) return bucket;
      this.#lines.shift();
    }
  }

  #catchUp(index: QueueIndex): void {
    if (this.#seen === index.moment) return;
    const look = (bucket: Bucket) => {
      if (!this.#passes(bucket.key)) return;
      const { head } = bucket;
      if (head !== undefined) this.#lineOf(bucket).push(bucket, head);
    };
    if (this.#seen === 0 || index.moment - this.#seen > this.#held + FEW) {
      this.forget();
      index.filedFor(this.#seeker, this.#terms, look);
    } else index.arrivedSince(this.#seen, this.#terms, look);
    this.#seen = index.moment;
    this.#held = this.#lines.reduce((sum, { line }) => sum + line.length, 0);
    if (this.#held > SPARE + 2 * index.buckets) this.#tidy();
  }

  #lineOf({ priority, party }: Bucket): Line {
    const found = this.#lines.find((known) => known.priority === priority);
    if (found) return found.line;
    const line = party === null ? new FifoLine() : new PartyLine();
    this.#lines.push({ priority, line });
    this.#lines.sort((a, b) => b.priority - a.priority);
    return line;
  }

  /** Lets go of buckets that are gone, or that stand in it more than once. */
  #tidy(): void {
    this.#held = 0;
    for (const { line } of this.#lines) {
      line.tidy();
      this.#held += line.length;
    }
  }
}
