import FlatQueue from 'flatqueue';
import type { Bucket } from './bucket.ts';
import type { Party } from './rounds.ts';

/** Buckets of one priority in the order they are served, as one view sees them. */
export interface Line {
  /** How many entries it holds, at most. */
  readonly length: number;
  /** @param head the number that is next in the bucket */
  push(bucket: Bucket, head: number): void;
  /** The bucket that is served next. What is shut is left out until it arrives anew. */
  front(isShut: (bucket: Bucket) => boolean): Bucket | undefined;
  /** Lets go of buckets that are gone, or that stand in it more than once. */
  tidy(): void;
}

/** First in, first out: by the numbers that were next when they were looked at. */
export class FifoLine implements Line {
  readonly #queue = new FlatQueue<Bucket>();

  get length(): number {
    return this.#queue.length;
  }

  push(bucket: Bucket, head: number): void {
    this.#queue.push(bucket, head);
  }

  front(isShut: (bucket: Bucket) => boolean): Bucket | undefined {
    const queue = this.#queue;
    for (let bucket = queue.peek(); bucket; bucket = queue.peek()) {
      const { head } = bucket;
      if (head === queue.peekValue()) {
        if (!isShut(bucket)) return bucket;
        queue.pop();
        continue;
      }
      queue.pop();
      if (head !== undefined) queue.push(bucket, head);
    }
    return undefined;
  }

  tidy(): void {
    const queue = this.#queue;
    const kept = new Set(queue.ids.slice(0, queue.length));
    queue.clear();
    for (const bucket of kept) if (bucket.head !== undefined) queue.push(bucket, bucket.head);
    queue.shrink();
  }
}

/** By turns of parties, and within each first in, first out. */
export class PartyLine implements Line {
  readonly #order = new FlatQueue<Party>();
  readonly #lines = new Map<Party, FifoLine>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(bucket: Bucket, head: number): void {
    const party = bucket.party as Party;
    let line = this.#lines.get(party);
    if (!line) {
      line = new FifoLine();
      this.#lines.set(party, line);
      this.#order.push(party, party.turn);
    }
    line.push(bucket, head);
    this.#length++;
  }

  front(isShut: (bucket: Bucket) => boolean): Bucket | undefined {
    const order = this.#order;
    for (let party = order.peek(); party; party = order.peek()) {
      const line = this.#lines.get(party);
      if (party.turn === order.peekValue()) {
        const bucket = line?.front(isShut);
        if (bucket) return bucket;
        this.#lines.delete(party);
        order.pop();
        continue;
      }
      order.pop();
      order.push(party, party.turn);
    }
    this.#length = 0;
    return undefined;
  }

  tidy(): void {
    this.#length = 0;
    for (const line of this.#lines.values()) {
      line.tidy();
      this.#length += line.length;
    }
  }
}
