import { signal } from '@preact/signals';
import { UnreachableError } from '../../../client/errors.ts';
import { wordsOf } from '../api/words-of.ts';

export interface RefreshOptions {
  /** Milliseconds between two loads when nothing happens. */
  every: number;
  /** Milliseconds between two loads when much happens. */
  atLeast: number;
  onFault: (error: unknown) => void;
}

/** A load may take this share of the time at most, so that a slow answer is not asked for without end. */
const PATIENCE = 3;

/**
 * Keeps something up to date: loads it now and then, sooner when it is told that something happened, one load at
 * a time, and not at all while nobody looks.
 */
export class Refresher {
  /** Why the server refused the last load; null when it did not. That it is away is told once for the whole page. */
  readonly fault = signal<string | null>(null);
  readonly #load: (signal: AbortSignal) => Promise<void>;
  readonly #options: RefreshOptions;
  #running = false;
  #loading: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #touched = false;
  #endedAt = 0;
  #lastMs = 0;

  constructor(load: (signal: AbortSignal) => Promise<void>, options: RefreshOptions) {
    this.#load = load;
    this.#options = options;
  }

  start(): void {
    if (this.#running) return;
    this.#running = true;
    document.addEventListener('visibilitychange', this.#seen);
    void this.now();
  }

  stop(): void {
    this.#running = false;
    document.removeEventListener('visibilitychange', this.#seen);
    clearTimeout(this.#timer);
    this.#loading?.abort();
    this.#loading = null;
  }

  /** Loads at once; a load under way answers another question and is dropped. */
  now(): Promise<void> {
    this.#loading?.abort();
    return this.#round();
  }

  /** Something happened: loads as soon as that is no burden. */
  touch(): void {
    if (!this.#running) return;
    this.#touched = true;
    if (!this.#loading) this.#plan();
  }

  readonly #seen = () => {
    if (document.visibilityState === 'visible') this.touch();
  };

  #plan(): void {
    clearTimeout(this.#timer);
    const gap = Math.max(this.#options.atLeast, PATIENCE * this.#lastMs);
    const wait = this.#touched ? gap : Math.max(gap, this.#options.every);
    const left = this.#endedAt + wait - performance.now();
    this.#timer = setTimeout(() => void this.#round(), Math.max(0, left));
  }

  async #round(): Promise<void> {
    clearTimeout(this.#timer);
    // Seen again, it goes on.
    if (!this.#running || document.visibilityState === 'hidden') return;
    const loading = new AbortController();
    this.#loading = loading;
    this.#touched = false;
    const since = performance.now();
    try {
      await this.#load(loading.signal);
      if (!loading.signal.aborted) this.fault.value = null;
    } catch (error) {
      if (loading.signal.aborted) return;
      this.fault.value = error instanceof UnreachableError ? null : wordsOf(error);
      this.#options.onFault(error);
    }
    if (this.#loading !== loading) return;
    this.#loading = null;
    this.#endedAt = performance.now();
    this.#lastMs = this.#endedAt - since;
    if (this.#running) this.#plan();
  }
}
