/**
 * Seconds for which a path that a worker reported as missing is taken for missing there
 * (docs/semantics.md#faults-and-attempts).
 */
const REMEMBERED = 600;
/** Paths that are remembered of one worker; the oldest are forgotten first. */
const MOST = 1000;
/** Characters that are kept of what a worker says of it. */
const LONGEST_ERROR = 1000;

interface Missing {
  /** Second of the monotonic clock, on which it goes on while nobody can be heard. */
  readonly until: number;
  /** What the worker said of it. */
  readonly error: string;
}

/**
 * Which paths a worker lacks, by its own word. Lost with the process: then a lease finds out anew. It never changes:
 * another object stands in its place.
 */
export class MissingPaths {
  /** Oldest first. */
  readonly #paths: ReadonlyMap<string, Missing>;

  constructor(paths: ReadonlyMap<string, Missing> = new Map()) {
    this.#paths = paths;
  }

  get size(): number {
    return this.#paths.size;
  }

  /** When the oldest is forgotten; null when there is none. */
  get next(): number | null {
    for (const { until } of this.#paths.values()) return until;
    return null;
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#paths.keys();
  }

  has(path: string): boolean {
    return this.#paths.has(path);
  }

  /** The worker's sentence. */
  errorOf(path: string): string | undefined {
    return this.#paths.get(path)?.error;
  }

  /** With one more, the newest; of too many the oldest are forgotten. */
  with(path: string, error: string, now: number): MissingPaths {
    const kept = [...this.#paths].filter(([known]) => known !== path).slice(1 - MOST);
    const missing = { until: now + REMEMBERED, error: error.slice(0, LONGEST_ERROR) };
    return new MissingPaths(new Map([...kept, [path, missing]]));
  }

  /** Without those that the test names; the same object where there are none. */
  without(isMeant: (path: string, until: number) => boolean): MissingPaths {
    const kept = [...this.#paths].filter(([path, { until }]) => !isMeant(path, until));
    return kept.length < this.#paths.size ? new MissingPaths(new Map(kept)) : this;
  }
}

export const NOTHING_MISSING = new MissingPaths();
