import type { Clock } from '../../actors/shared/clock.ts';

interface Timer {
  at: number;
  callback: () => void;
}

/** Time that moves only when the test says so. */
export class SimulatedClock implements Clock {
  #monotonic = 1000;
  #wall = 1_800_000_000;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  timer(seconds: number, callback: () => void): () => void {
    const timer = { at: this.#monotonic + Math.max(0, seconds), callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Lets seconds pass, firing timers in order; between two of them the event loop runs until it is idle. */
  async advance(seconds: number): Promise<void> {
    const end = this.#monotonic + seconds;
    for (;;) {
      const next = [...this.#timers].filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#move(Math.max(next.at, this.#monotonic));
      this.#timers.delete(next);
      next.callback();
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#move(end);
  }

  /** The wall clock is set; the monotonic one does not notice. */
  jump(seconds: number): void {
    this.#wall += seconds;
  }

  #move(monotonic: number): void {
    this.#wall += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }
}
