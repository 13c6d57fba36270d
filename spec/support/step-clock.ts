import type { Clock, Timing } from '../../actors/shared/clock.ts';

interface Timer {
  at: number;
  number: number;
  /** Whether it waits for time in which the process listens. */
  listens: boolean;
  callback: () => void;
}

/** Simulated time that goes from timer to timer, so that between two of them everything can come to rest. */
export class StepClock implements Clock {
  #monotonic = 1000;
  #wall = 1_800_000_000;
  #timers: Timer[] = [];
  #count = 0;
  #missed = 0;
  /** The time in which the process that has this clock was not standing still. */
  readonly hearing: Timing = {
    monotonic: () => this.#monotonic - this.#missed,
    // Sums of fractions differ in their last digits: what is due by this clock must not be a trace too early for it.
    timer: (seconds, callback) => this.#set(seconds + (this.#missed > 0 ? 1e-9 : 0), callback, true),
  };

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  timer(seconds: number, callback: () => void): () => void {
    return this.#set(seconds, callback, false);
  }

  #set(seconds: number, callback: () => void, listens: boolean): () => void {
    const timer = { at: this.#monotonic + Math.max(0, seconds), number: this.#count++, callback, listens };
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

  /** Time passes in which the process that has this clock stands still; what came due is left for the next step. */
  standStill(seconds: number): void {
    this.#wall += seconds;
    this.#monotonic += seconds;
    this.#missed += seconds;
    for (const timer of this.#timers) if (timer.listens) timer.at += seconds;
  }

  /** The wall clock is set; the monotonic one does not notice. */
  jump(seconds: number): void {
    this.#wall += seconds;
  }
}
