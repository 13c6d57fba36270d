import { signal } from '@preact/signals';

/** Seconds that whole-second dates and a slow network may be off. */
const TOLERANCE = 3;

/** The present, in seconds since the epoch by the server's clock as far as it is known; moves once a second. */
export class Ticker {
  readonly now = signal(Date.now() / 1000);
  #skew = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  start(): void {
    this.#timer ??= setInterval(() => this.#tick(), 1_000);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /**
   * A browser whose clock is minutes off would call fresh things old.
   * @param serverSeconds what an answer's `Date` says, whole seconds; NaN where it says nothing
   */
  learn(serverSeconds: number): void {
    const skew = serverSeconds - Date.now() / 1000;
    if (Number.isNaN(skew) || Math.abs(skew - this.#skew) < TOLERANCE) return;
    this.#skew = Math.abs(skew) < TOLERANCE ? 0 : skew;
    this.#tick();
  }

  /** The present to the millisecond, by the same clock. */
  present(): number {
    return Date.now() / 1000 + this.#skew;
  }

  #tick(): void {
    if (document.visibilityState === 'visible') this.now.value = this.present();
  }
}
