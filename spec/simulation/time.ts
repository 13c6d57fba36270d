import { AsyncLocalStorage } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import type { StepClock } from '../support/step-clock.ts';

/**
 * Time as one process on its own machine has it: it may freeze, and what comes due or arrives meanwhile waits for
 * the thaw; it may die, and nothing of it comes back.
 */
export class PeerTime {
  readonly #clock: StepClock;
  #life = 0;
  #frozen = false;
  #held: (() => void)[] = [];

  constructor(clock: StepClock) {
    this.#clock = clock;
  }

  get seconds(): number {
    return this.#clock.monotonic();
  }

  /** Calls back after so many seconds; returns the way to cancel. */
  after(seconds: number, callback: () => void): () => void {
    const enter = this.entrance(callback);
    return this.#clock.timer(seconds, enter);
  }

  /** What comes from outside enters the process here, or not at all if it has died by then. */
  entrance(callback: () => void): () => void {
    const life = this.#life;
    const enter = () => {
      if (life !== this.#life) return;
      if (this.#frozen) this.#held.push(enter);
      else inTime.run(this, callback);
    };
    return enter;
  }

  run<T>(step: () => T): T {
    return inTime.run(this, step);
  }

  freeze(): void {
    this.#frozen = true;
  }

  thaw(): void {
    this.#frozen = false;
    for (const enter of this.#held.splice(0)) enter();
  }

  die(): void {
    this.#life++;
    this.#frozen = false;
    this.#held = [];
  }

  sleep<T>(ms: number, value: T, signal?: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const refuse = () => reject(new DOMException('The operation was aborted', 'AbortError'));
      if (signal?.aborted) return refuse();
      const onAbort = () => {
        cancel();
        refuse();
      };
      const cancel = this.after(ms / 1000, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve(value);
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }
}

const inTime = new AsyncLocalStorage<PeerTime>();

/**
 * Gives code that runs in a `PeerTime` that time, where it asks Node for the real one. Everything else keeps the
 * real time. @returns the way back
 */
export function playTime(): () => void {
  const real = { delay: timers.setTimeout, now: performance.now };
  timers.setTimeout = (<T>(ms = 0, value?: T, options: { signal?: AbortSignal } = {}) => {
    const time = inTime.getStore();
    return time ? time.sleep(ms, value, options.signal) : real.delay(ms, value, options);
  }) as typeof timers.setTimeout;
  performance.now = () => {
    const time = inTime.getStore();
    return time ? time.seconds * 1000 : real.now.call(performance);
  };
  syncBuiltinESMExports();
  return () => {
    timers.setTimeout = real.delay;
    performance.now = real.now;
    syncBuiltinESMExports();
  };
}
