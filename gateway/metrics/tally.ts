import type { Tell } from './metrics.ts';

/** Counts by the values of a few labels. */
export class Tally {
  readonly labels: readonly string[];
  readonly #counts = new Map<string, { readonly values: readonly string[]; count: number }>();

  /** @param known values that are told from the start, so that nobody misses the first of them */
  constructor(labels: readonly string[], known: readonly (readonly string[])[] = []) {
    this.labels = labels;
    for (const values of known) this.#counts.set(values.join('\n'), { values, count: 0 });
  }

  /** @param values one for each label */
  count(...values: string[]): void {
    const key = values.length === 1 ? (values[0] as string) : values.join('\n');
    const known = this.#counts.get(key);
    if (known) known.count++;
    else this.#counts.set(key, { values, count: 1 });
  }

  tell(tell: Tell): void {
    for (const { values, count } of this.#counts.values())
      tell(count, Object.fromEntries(this.labels.map((label, i) => [label, values[i] as string])));
  }
}
