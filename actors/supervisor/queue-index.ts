import FlatQueue from 'flatqueue';

interface Bucket {
  requirement: number;
  priority: number;
  /** Task sequence numbers, smallest first. */
  seqs: FlatQueue<number>;
}

/**
 * The queued tasks, by requirement and priority, in the order they are served. It holds sequence numbers
 * only. Entries are not removed when a task leaves the queue by another way than `take`; whoever takes one
 * looks at its row and drops it unless it is still queued.
 */
export class QueueIndex {
  /** Larger priorities first. */
  readonly #buckets: Bucket[] = [];
  readonly #byKey = new Map<string, Bucket>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(requirement: number, priority: number, seq: number): void {
    const key = `${priority}:${requirement}`;
    let bucket = this.#byKey.get(key);
    if (!bucket) {
      bucket = { requirement, priority, seqs: new FlatQueue() };
      this.#byKey.set(key, bucket);
      const at = this.#buckets.findIndex((other) => other.priority < priority);
      this.#buckets.splice(at < 0 ? this.#buckets.length : at, 0, bucket);
    }
    bucket.seqs.push(seq, seq);
    this.#size++;
  }

  /**
   * Removes and returns the next task whose requirement passes: first in, first out within priority. The cost
   * depends on how many distinct requirements are queued, not on how many tasks.
   */
  take(
    passes: (requirement: number) => boolean,
  ): { seq: number; requirement: number; priority: number } | null {
    let best: Bucket | null = null;
    for (const bucket of this.#buckets) {
      if (best && bucket.priority < best.priority) break;
      const head = bucket.seqs.peekValue();
      if (head === undefined || (best && head > (best.seqs.peekValue() as number))) continue;
      if (passes(bucket.requirement)) best = bucket;
    }
    if (!best) return null;
    const seq = best.seqs.pop() as number;
    this.#size--;
    if (best.seqs.length === 0) this.#drop(best);
    return { seq, requirement: best.requirement, priority: best.priority };
  }

  #drop(bucket: Bucket): void {
    this.#byKey.delete(`${bucket.priority}:${bucket.requirement}`);
    this.#buckets.splice(this.#buckets.indexOf(bucket), 1);
  }
}
