/** What stands for all others, once as many are known as may be told apart. */
export const OTHER = 'other';

/**
 * The values of a label that comes from outside, such as the type of a job: the first so many that come are told apart,
 * so that no client can make more series than these.
 */
export class Known {
  readonly #values = new Set<string>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  of(value: string): string {
    if (value === OTHER || this.#values.has(value)) return value;
    if (this.#values.size >= this.#most) return OTHER;
    this.#values.add(value);
    return value;
  }
}
