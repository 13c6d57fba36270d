import { overloaded } from '../reply/refusal.ts';

/** Bytes of each body that are not counted, so that heartbeats and reports find their way at any time. */
const FREE = 16 * 1024;

/**
 * Bounds the bytes of JSON and YAML bodies that are in memory at the same time, from their first byte to the
 * answer: while the store is slow, or clients are many, memory does not grow with them.
 */
export class BodyBudget {
  readonly #limit: number;
  #held = 0;

  /** @param limit in bytes */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Bytes that are counted now. */
  get held(): number {
    return this.#held;
  }

  share(): BodyShare {
    return new BodyShare(this);
  }

  /** @throws ClusterError `overloaded` when all bodies together would be too much */
  hold(bytes: number): void {
    if (this.#held + bytes > this.#limit) {
      throw overloaded('the requests under way are together too large for the server');
    }
    this.#held += bytes;
  }

  release(bytes: number): void {
    this.#held -= bytes;
  }
}

/** One body's part of the budget. */
export class BodyShare {
  readonly #budget: BodyBudget;
  #size = 0;
  #counted = 0;

  constructor(budget: BodyBudget) {
    this.#budget = budget;
  }

  /** @throws ClusterError `overloaded` when all bodies together would be too much */
  take(bytes: number): void {
    this.#size += bytes;
    const more = Math.max(0, this.#size - FREE) - this.#counted;
    this.#budget.hold(more);
    this.#counted += more;
  }

  /** The body, and what was made of it, is let go. Idempotent. */
  release(): void {
    this.#budget.release(this.#counted);
    this.#counted = 0;
  }
}
