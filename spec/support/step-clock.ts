import type { Clock } from '../../actors/clock.ts';

interface Timer {
  at: number;
  number: number;
  callback: () => void;
}

/** Simulated time that goes from timer to timer, so that between two of them everything can come to rest. */
export class StepClock implements Clock {
  #monotonic = 1000;
  #wall = 1_800_000_000;
  #timers: Timer[] = [];
  #count = 0;

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  timer(seconds: number, callback: () => void): () => void {
    const timer = { at: this.#monotonic + Math.max(0, seconds), number: this.#count++, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Monotonic second of the next timer; infinity when there is none. */
  get nextAt(): number {
    return this.#timers.reduce((least, timer) => Math.min(least, timer.at), Number.POSITIVE_INFINITY);
  }

  /**
   * Goes to a later second and fires what is due there, in order; timers that those set wait for the next call.
   * @returns whether anything was due
   */
  moveTo(monotonic: number): boolean {
    const to = Math.max(monotonic, this.#monotonic);
    this.#wall += to - this.#monotonic;
    this.#monotonic = to;
    const due = this.#timers.filter((timer) => timer.at <= to);
    if (due.length === 0) return false;
    this.#timers = this.#timers.filter((timer) => timer.at > to);
    due.sort((a, b) => a.at - b.at || a.number - b.number);
    for (const timer of due) timer.callback();
    return true;
  }

  /** The wall clock is set; the monotonic one does not notice. */
  jump(seconds: number): void {
    this.#wall += seconds;
  }
}
