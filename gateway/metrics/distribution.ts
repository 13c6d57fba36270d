/** How often which values were observed: a count for each bucket, which costs an addition. */
export class Distribution {
  /** Upper bounds, each included, smallest first. */
  readonly bounds: readonly number[];
  /** For each bound, and one more beyond the last. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let place = 0;
    while (place < bounds.length && value > (bounds[place] as number)) place++;
    counts[place] = (counts[place] as number) + 1;
    this.sum += value;
  }
}

/** Distributions by the value of one label. */
export class Distributions {
  readonly #bounds: readonly number[];
  readonly #byValue = new Map<string, Distribution>();

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
  }

  observe(of: string, value: number): void {
    let found = this.#byValue.get(of);
    if (!found) {
      found = new Distribution(this.#bounds);
      this.#byValue.set(of, found);
    }
    found.observe(value);
  }

  [Symbol.iterator](): Iterator<[string, Distribution]> {
    return this.#byValue.entries();
  }
}
