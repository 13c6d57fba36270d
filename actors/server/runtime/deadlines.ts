import FlatQueue from 'flatqueue';
import type { Timing } from '../../shared/clock.ts';

/** Unused entries that may be kept, beside as many as are used. */
const SPARE = 1000;

/**
 * Deadlines on a monotonic clock, all in one structure with one timer. Moving a deadline later costs a map
 * entry: the queue is only looked at when its head comes due.
 */
export class Deadlines<Key extends string> {
  readonly #clock: Timing;
  readonly #due: (key: Key) => void;
  readonly #at = new Map<Key, number>();
  readonly #queue = new FlatQueue<Key>();
  #cancelTimer: (() => void) | null = null;
  #timerAt = Number.POSITIVE_INFINITY;

  /** `due` is called once for each deadline that has passed; the deadline is gone by then. */
  constructor(clock: Timing, due: (key: Key) => void) {
    this.#clock = clock;
    this.#due = due;
  }

  /** Sets or moves the deadline of a key to a second of the clock. */
  set(key: Key, at: number): void {
    const before = this.#at.get(key);
    this.#at.set(key, at);
    // A queue entry that is too early is put right when it surfaces.
    if (before === undefined || at < before) this.#queue.push(key, at);
    this.#arm();
  }

  /** How many entries are in memory; bounded by how many deadlines are set. */
  get held(): number {
    return this.#queue.length;
  }

  delete(key: Key): void {
    this.#at.delete(key);
    if (this.#queue.length > SPARE + 2 * this.#at.size) this.#tidy();
  }

  stop(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
    this.#at.clear();
    this.#queue.clear();
  }

  /** Lets go of entries whose deadline was taken back or moved: most are, long before they would come due. */
  #tidy(): void {
    this.#queue.clear();
    for (const [key, at] of this.#at) this.#queue.push(key, at);
    this.#queue.shrink();
  }

  #arm(): void {
    const at = this.#queue.peekValue();
    if (at === undefined || at >= this.#timerAt) return;
    this.#cancelTimer?.();
    this.#timerAt = at;
    this.#cancelTimer = this.#clock.timer(Math.max(0, at - this.#clock.monotonic()), () => this.#fire());
  }

  #fire(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    this.#cancelTimer = null;
    const now = this.#clock.monotonic();
    const due: Key[] = [];
    for (let at = this.#queue.peekValue(); at !== undefined && at <= now; at = this.#queue.peekValue()) {
      const key = this.#queue.pop() as Key;
      const real = this.#at.get(key);
      if (real === undefined) continue;
      if (real <= now) {
        this.#at.delete(key);
        due.push(key);
      } else this.#queue.push(key, real);
    }
    this.#arm();
    for (const key of due) this.#due(key);
  }
}
