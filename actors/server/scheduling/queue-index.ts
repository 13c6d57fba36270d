import { FOR_GOOD, type Journal } from '../turn/journal.ts';
import { Arrivals } from './arrivals.ts';
import { Bucket } from './bucket.ts';
import type { Group } from './groups.ts';
import { type Lane, NO_LANE } from './lanes.ts';
import { sooner } from './lines.ts';
import { Openings } from './openings.ts';
import { Rounds, type Share } from './rounds.ts';
import { type Filing, type Seeker, Shelf } from './shelf.ts';
import { type Span, Withheld } from './withheld.ts';

/** What one who looks for work sees of the index. */
export interface View {
  /** The bucket whose task is served next; undefined when there is none for it. */
  next(index: QueueIndex): Bucket | undefined;
}

/**
 * The queued tasks, by what they ask (a requirement, or an exclusion) and priority, in the order they are served. It holds
 * sequence numbers only. Each bucket is filed under one term that a worker must have; who looks for work keeps a view,
 * which looks where there may be something for it, later at what has arrived there since, and at nothing twice.
 */
export class QueueIndex {
  readonly #byKey = new Map<string, Bucket>();
  readonly #shelves = new Map<string, Shelf>();
  readonly #filingOf: (key: number) => Filing;
  readonly #share: Share;
  readonly #jobOf: (key: number) => number;
  /** Whose turn it is, where there are turns. */
  readonly #rounds = new Rounds();
  /** Of what nothing is given out at present, and what has opened. */
  readonly openings: Openings;
  readonly #all = new Arrivals<Bucket>();
  readonly #withheld = new Withheld();
  #moment = 0;
  #size = 0;

  /**
   * @param filingOf by what the tasks of a key are found
   * @param share who takes turns
   * @param jobOf whose tasks they are, where jobs do
   * @param isShut whether no task of a lane is given out at present
   */
  constructor(
    filingOf: (key: number) => Filing,
    {
      share = 'fifo',
      jobOf = () => 0,
      isShut = () => false,
    }: { share?: Share; jobOf?: (key: number) => number; isShut?: (lane: Lane) => boolean } = {},
  ) {
    this.#filingOf = filingOf;
    this.#share = share;
    this.#jobOf = jobOf;
    const owner = (lane: Lane) => (share === 'owner' ? [this.#rounds.enter(lane.owner)] : []);
    this.openings = new Openings(isShut, owner);
  }

  /** How many tasks are queued. */
  get size(): number {
    return this.#size;
  }

  /** How many keys with tasks there are, each once for each priority. */
  get buckets(): number {
    return this.#byKey.size;
  }

  /** Every key with tasks, each once for each priority. */
  all(): Iterable<Pick<Bucket, 'key' | 'priority' | 'size' | 'first'>> {
    return this.#byKey.values();
  }

  /** How many numbers are in memory; bounded by `size`. */
  get held(): number {
    return [...this.#byKey.values()].reduce((sum, bucket) => sum + bucket.held, this.#withheld.held);
  }

  /** Counts the arrivals. */
  get moment(): number {
    return this.#moment;
  }

  add(journal: Journal, key: number, priority: number, seq: number): void {
    journal.onRollback(() => this.remove(FOR_GOOD, key, priority, seq));
    this.#put(key, priority, [seq]);
    this.#size++;
  }

  /** Takes out a task that is in the index, wherever it stands. */
  remove(journal: Journal, key: number, priority: number, seq: number): void {
    const bucket = this.#byKey.get(placeOf(key, priority));
    if (!this.#withheld.delete(seq) && !bucket?.remove(seq)) return;
    journal.onRollback(() => this.add(FOR_GOOD, key, priority, seq));
    this.#left(bucket);
  }

  /** Tasks that are in the index under a key take their places among those of another priority, all at once. */
  move(
    journal: Journal,
    key: number,
    seqs: readonly number[],
    { from, to }: { from: number; to: number },
  ): void {
    if (seqs.length === 0) return;
    journal.onRollback(() => this.move(FOR_GOOD, key, seqs, { from: to, to: from }));
    const bucket = this.#byKey.get(placeOf(key, from));
    for (const seq of seqs) if (!this.#withheld.delete(seq)) bucket?.remove(seq);
    if (bucket?.isEmpty) this.#drop(bucket);
    this.#put(key, to, seqs);
  }

  /** Nothing is taken from there until it is released, whatever is added to it. */
  withhold(journal: Journal, span: Span): void {
    this.#withheld.add(span);
    journal.onRollback(() => this.release(FOR_GOOD, span));
  }

  release(journal: Journal, span: Span): void {
    for (const [seq, { key, priority }] of this.#withheld.release(span)) this.#put(key, priority, [seq]);
    journal.onRollback(() => this.withhold(FOR_GOOD, span));
  }

  /**
   * Removes and returns the next task that one of the views shows: first in, first out within priority. The cost
   * depends on what has arrived since the views looked last, not on what is queued.
   */
  take(journal: Journal, views: readonly View[]): { seq: number; key: number; priority: number } | null {
    let best: Bucket | undefined;
    for (const view of views) best = sooner(best, view.next(this));
    const seq = best?.head;
    if (best === undefined || seq === undefined) return null;
    const { key, priority } = best;
    best.pop();
    for (const group of best.path) this.#rounds.serve(group);
    this.#left(best);
    journal.onRollback(() => this.add(FOR_GOOD, key, priority, seq));
    return { seq, key, priority };
  }

  /** Shows what is filed under one of these terms, and may be for this one. */
  filedFor(seeker: Seeker, terms: ReadonlySet<string>, look: (bucket: Bucket) => void): void {
    for (const term of terms) this.#shelves.get(term)?.look(seeker, look);
  }

  /** Shows what has arrived after a moment and is filed under one of these terms. */
  arrivedSince(moment: number, terms: ReadonlySet<string>, look: (bucket: Bucket) => void): void {
    // Whichever is less: what has arrived, or where to look.
    if (this.#moment - moment <= terms.size) {
      this.#all.since(moment, (bucket) => {
        if (terms.has(bucket.term)) look(bucket);
      });
      return;
    }
    for (const term of terms) this.#shelves.get(term)?.arrivals.since(moment, look);
  }

  #put(key: number, priority: number, seqs: readonly number[]): void {
    const bucket = this.#byKey.get(placeOf(key, priority)) ?? this.#newBucket(key, priority);
    const { head } = bucket;
    for (const seq of seqs) bucket.add(seq);
    if (head === undefined || (bucket.first ?? head) < head) this.#arrive(bucket);
  }

  #newBucket(key: number, priority: number): Bucket {
    const filing = this.#filingOf(key);
    const term = this.#rarestOf(filing.terms);
    const path = this.#enter(key, filing.lane ?? NO_LANE);
    const bucket = new Bucket({ key, priority, term, path }, this.#withheld);
    this.#byKey.set(placeOf(key, priority), bucket);
    const shelf = this.#shelves.get(term) ?? new Shelf();
    shelf.put(bucket, filing);
    this.#shelves.set(term, shelf);
    return bucket;
  }

  /** The groups of a bucket more. Jobs take turns within their lane, the types of an owner share the owner's turn. */
  #enter(key: number, lane: Lane): readonly Group[] {
    const { path } = this.openings.of(lane);
    return this.#share === 'job' ? [...path, this.#rounds.enter(this.#jobOf(key))] : path;
  }

  /** Of what all must have, the one that fewest others are filed under. */
  #rarestOf([first = '', ...others]: readonly string[]): string {
    const filed = (term: string) => this.#shelves.get(term)?.size ?? 0;
    return others.reduce((rarest, term) => (filed(term) < filed(rarest) ? term : rarest), first);
  }

  #arrive(bucket: Bucket): void {
    bucket.arrived = ++this.#moment;
    this.#all.note(bucket);
    this.#shelves.get(bucket.term)?.arrivals.note(bucket);
  }

  /** A task has left a bucket, perhaps its last; without one it was put aside from there, as all others before. */
  #left(bucket: Bucket | undefined): void {
    this.#size--;
    if (bucket?.isEmpty) this.#drop(bucket);
  }

  #drop(bucket: Bucket): void {
    // Views may still hold it.
    bucket.clear();
    this.#rounds.leave(bucket.path.at(-1));
    this.#byKey.delete(placeOf(bucket.key, bucket.priority));
    const shelf = this.#shelves.get(bucket.term);
    shelf?.delete(bucket);
    if (shelf?.size === 0) this.#shelves.delete(bucket.term);
  }
}

const placeOf = (key: number, priority: number): string => `${priority}:${key}`;
