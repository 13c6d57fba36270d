import FlatQueue from 'flatqueue';
import type { Group } from './groups.ts';
import type { Withheld } from './withheld.ts';

/** Unused numbers that a bucket may hold, beside as many as it uses. */
const SPARE = 1000;

/** Of most buckets, of which there may be one for each job; nothing is added to it. */
const NONE = new Set<number>();

/** The queued tasks of one key and one priority: their sequence numbers, in the order they are served. */
export class Bucket {
  /** A requirement, or an exclusion. */
  readonly key: number;
  readonly priority: number;
  /** What a worker must have at least, to be of interest. */
  readonly term: string;
  /** The groups with which its tasks are served, or held back, the outermost first. */
  readonly path: readonly Group[];
  /** When it last became worth a look: it came into the index, or a task came before all that it had. */
  arrived = 0;
  /** Smallest first, those that are gone included. */
  #seqs = new FlatQueue<number>();
  /** Numbers that were removed from the middle, where a heap cannot let go of them. */
  #gone: Set<number> = NONE;
  readonly #withheld: Withheld;

  constructor(
    { key, priority, term, path }: Pick<Bucket, 'key' | 'priority' | 'term' | 'path'>,
    withheld: Withheld,
  ) {
    this.key = key;
    this.path = path;
    this.priority = priority;
    this.term = term;
    this.#withheld = withheld;
  }

  /** How many numbers are in memory. */
  get held(): number {
    return this.#seqs.length + this.#gone.size;
  }

  /** How many tasks are in it. */
  get size(): number {
    return this.#seqs.length - this.#gone.size;
  }

  /** The smallest number in memory, which may be of one that is gone; unlike `head` it moves nothing. */
  get first(): number | undefined {
    return this.#seqs.peekValue();
  }

  get isEmpty(): boolean {
    return this.#seqs.length === this.#gone.size;
  }

  /** The number that is served next; undefined when all have left, or are withheld. */
  get head(): number | undefined {
    const seqs = this.#seqs;
    for (let seq = seqs.peekValue(); seq !== undefined; seq = seqs.peekValue()) {
      if (!this.#gone.delete(seq) && !this.#withheld.putAside(seq, this)) return seq;
      seqs.pop();
    }
    return undefined;
  }

  add(seq: number): void {
    // A number that comes back is still in its place.
    if (!this.#gone.delete(seq)) this.#seqs.push(seq, seq);
  }

  /** Takes out a number that it has, wherever it stands; false when it was taken out before. */
  remove(seq: number): boolean {
    if (this.#gone.has(seq)) return false;
    if (this.#gone === NONE) this.#gone = new Set();
    const gone = this.#gone.add(seq);
    if (gone.size > SPARE && gone.size * 2 > this.#seqs.length) this.#tidy();
    return true;
  }

  /** Takes out the one that is served next. */
  pop(): void {
    if (this.head !== undefined) this.#seqs.pop();
  }

  /** Lets go of everything. */
  clear(): void {
    this.#seqs = new FlatQueue<number>();
    this.#gone = NONE;
  }

  /** Lets go of the numbers that are gone. */
  #tidy(): void {
    const kept = new FlatQueue<number>();
    for (const seq of this.#seqs.ids.slice(0, this.#seqs.length))
      if (!this.#gone.has(seq)) kept.push(seq, seq);
    this.#seqs = kept;
    this.#gone = NONE;
  }
}
