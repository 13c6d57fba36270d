/** Milliseconds between two renderings of what streams in. */
export const BATCH_MS = 200;

/** Gathers items and hands them over together, so that a thousand events cost one rendering. */
export class Batch<T> {
  readonly #take: (items: T[]) => void;
  readonly #most: number;
  #items: T[] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** @param most items kept between two hand-overs; of more, the oldest are dropped */
  constructor(most: number, take: (items: T[]) => void) {
    this.#most = most;
    this.#take = take;
  }

  push(item: T): void {
    this.#items.push(item);
    if (this.#items.length > 2 * this.#most) this.#items = this.#items.slice(-this.#most);
    this.#timer ??= setTimeout(() => this.#flush(), BATCH_MS);
  }

  /** Forgets what waits. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#items = [];
  }

  #flush(): void {
    const items = this.#items.slice(-this.#most);
    this.#items = [];
    this.#timer = null;
    this.#take(items);
  }
}
