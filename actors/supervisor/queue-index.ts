import FlatQueue from 'flatqueue';
import { FOR_GOOD, type Journal } from './journal.ts';

interface Bucket {
  requirement: number;
  priority: number;
  /** Task sequence numbers, smallest first, those that are gone included. */
  seqs: FlatQueue<number>;
  /** Numbers that were removed from the middle, where a heap cannot let go of them. */
  gone: Set<number>;
}

/** How many numbers a bucket may hold in vain, beside as many as it holds with reason. */
const SPARE = 1000;

/** The queued tasks, by requirement and priority, in the order they are served. It holds sequence numbers only. */
export class QueueIndex {
  /** Larger priorities first. None is without a task. */
  readonly #buckets: Bucket[] = [];
  readonly #byKey = new Map<string, Bucket>();
  #size = 0;

  /** How many tasks are queued. */
  get size(): number {
    return this.#size;
  }

  /** How many numbers are in memory; bounded by `size`. */
  get held(): number {
    return this.#buckets.reduce((sum, { seqs, gone }) => sum + seqs.length + gone.size, 0);
  }

  add(journal: Journal, requirement: number, priority: number, seq: number): void {
    journal.onRollback(() => this.remove(FOR_GOOD, requirement, priority, seq));
    const bucket = this.#byKey.get(keyOf(requirement, priority)) ?? this.#newBucket(requirement, priority);
    // A number that comes back is still in its place.
    if (!bucket.gone.delete(seq)) bucket.seqs.push(seq, seq);
    this.#size++;
  }

  /** Takes out a task that is in the index, wherever it stands. */
  remove(journal: Journal, requirement: number, priority: number, seq: number): void {
    const bucket = this.#byKey.get(keyOf(requirement, priority));
    if (!bucket || bucket.gone.has(seq)) return;
    journal.onRollback(() => this.add(FOR_GOOD, requirement, priority, seq));
    bucket.gone.add(seq);
    this.#size--;
    const { seqs, gone } = bucket;
    if (gone.size === seqs.length) this.#drop(bucket);
    else if (gone.size > SPARE && gone.size * 2 > seqs.length) tidy(bucket);
  }

  /**
   * Removes and returns the next task whose requirement passes: first in, first out within priority. The cost
   * depends on how many distinct requirements are queued, not on how many tasks.
   */
  take(
    journal: Journal,
    passes: (requirement: number) => boolean,
  ): { seq: number; requirement: number; priority: number } | null {
    let best: Bucket | null = null;
    for (const bucket of this.#buckets) {
      if (best && bucket.priority < best.priority) break;
      if (best && headOf(bucket) > headOf(best)) continue;
      if (passes(bucket.requirement)) best = bucket;
    }
    if (!best) return null;
    const seq = headOf(best);
    best.seqs.pop();
    this.#size--;
    if (best.seqs.length === best.gone.size) this.#drop(best);
    const { requirement, priority } = best;
    journal.onRollback(() => this.add(FOR_GOOD, requirement, priority, seq));
    return { seq, requirement, priority };
  }

  #newBucket(requirement: number, priority: number): Bucket {
    const bucket = { requirement, priority, seqs: new FlatQueue<number>(), gone: new Set<number>() };
    this.#byKey.set(keyOf(requirement, priority), bucket);
    const at = this.#buckets.findIndex((other) => other.priority < priority);
    this.#buckets.splice(at < 0 ? this.#buckets.length : at, 0, bucket);
    return bucket;
  }

  #drop(bucket: Bucket): void {
    this.#byKey.delete(keyOf(bucket.requirement, bucket.priority));
    this.#buckets.splice(this.#buckets.indexOf(bucket), 1);
  }
}

const keyOf = (requirement: number, priority: number): string => `${priority}:${requirement}`;

/** The number that is served next; a bucket in the index always has one. */
function headOf({ seqs, gone }: Bucket): number {
  while (gone.delete(seqs.peekValue() as number)) seqs.pop();
  return seqs.peekValue() as number;
}

/** Lets go of the numbers that are gone. */
function tidy(bucket: Bucket): void {
  const { seqs, gone } = bucket;
  const kept = new FlatQueue<number>();
  for (const seq of seqs.ids.slice(0, seqs.length)) if (!gone.has(seq)) kept.push(seq, seq);
  bucket.seqs = kept;
  gone.clear();
}
