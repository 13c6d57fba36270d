import type { Journal } from '../turn/journal.ts';

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

/** Which paths a worker lacks, by its own word. Lost with the process: then a lease finds out anew. */
export class MissingPaths {
  /** Oldest first. */
  #paths: ReadonlyMap<string, Missing> = new Map();

  get size(): number {
    return this.#paths.size;
  }

  /** Another object whenever anything has changed. */
  get paths(): ReadonlyMap<string, unknown> {
    return this.#paths;
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

  note(journal: Journal, path: string, error: string, now: number): void {
    const kept = [...this.#paths].filter(([known]) => known !== path).slice(1 - MOST);
    this.#become(
      journal,
      new Map([...kept, [path, { until: now + REMEMBERED, error: error.slice(0, LONGEST_ERROR) }]]),
    );
  }

  /** Forgets those that the test names. */
  forget(journal: Journal, isMeant: (path: string, until: number) => boolean): void {
    const kept = [...this.#paths].filter(([path, { until }]) => !isMeant(path, until));
    if (kept.length < this.#paths.size) this.#become(journal, new Map(kept));
  }

  #become(journal: Journal, paths: ReadonlyMap<string, Missing>): void {
    const before = this.#paths;
    this.#paths = paths;
    journal.onRollback(() => {
      this.#paths = before;
    });
  }
}
