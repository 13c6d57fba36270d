import { overloaded } from './refusal.ts';

/** Bytes of each body that are not counted, so that heartbeats and reports find their way at any time. */
const FREE = 16 * 1024;

/** One body's part of the budget. */
export interface BodyShare {
  /** @throws ClusterError `overloaded` when all bodies together would be too much */
  take(bytes: number): void;
  /** The body, and what was made of it, is let go. Idempotent. */
  release(): void;
}

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
    let size = 0;
    let counted = 0;
    return {
      take: (bytes) => {
        size += bytes;
        const more = Math.max(0, size - FREE) - counted;
        if (this.#held + more > this.#limit) {
          throw overloaded('the requests under way are together too large for the server');
        }
        counted += more;
        this.#held += more;
      },
      release: () => {
        this.#held -= counted;
        counted = 0;
      },
    };
  }
}
