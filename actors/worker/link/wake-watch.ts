/** Between two looks. */
const LOOK_MS = 1_000;
/** A longer time without a look is one in which this program stood still; no lease is shorter than several of it. */
const ASLEEP_MS = 2_500;

/** Milliseconds of two clocks: the first never goes back, the second also goes on while the machine sleeps. */
export type Clocks = () => readonly [monotonic: number, wall: number];

const systemClocks: Clocks = () => [performance.now(), Date.now()];

/**
 * Notices that the program stood still: its machine slept, or it was stopped. Then leases may have expired that it
 * still takes for its own, so it asks before it reports (`asked`). A jump of the wall clock looks the same, and costs
 * no more than the question.
 */
export class WakeWatch {
  readonly #clocks: Clocks;
  readonly #onWake: () => void;
  #seen: readonly [number, number];
  #timer: NodeJS.Timeout | null = null;
  #asleep = false;
  #stoodStill = 0;
  readonly #waiting = new Set<() => void>();

  /** @param onWake told when it is noticed; has to lead to `set(false)` once the server has been asked */
  constructor(onWake: () => void, clocks: Clocks = systemClocks) {
    this.#onWake = onWake;
    this.#clocks = clocks;
    this.#seen = clocks();
  }

  start(): void {
    this.#seen = this.#clocks();
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.set(false);
  }

  /** Whether it has slept and the server has not been asked since. */
  set(asleep: boolean): void {
    this.#asleep = asleep;
    if (asleep) return;
    for (const go of this.#waiting) go();
    this.#waiting.clear();
  }

  /** Milliseconds of the monotonic clock in which this program stood still, since its start. */
  stoodStill(): number {
    // What comes due when a sleep has just ended may come before the timer.
    if (this.#timer) this.#look();
    return this.#stoodStill;
  }

  /** Resolves once there is nothing that the server should be asked first; rejects when aborted. */
  async asked(signal: AbortSignal): Promise<void> {
    // A sleep that has just ended may not have been noticed by the timer yet.
    if (this.#timer) this.#look();
    if (this.#asleep && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
    signal.throwIfAborted();
  }

  #look(): void {
    const now = this.#clocks();
    const gap = Math.max(now[0] - this.#seen[0], now[1] - this.#seen[1]);
    if (gap > ASLEEP_MS) this.#stoodStill += now[0] - this.#seen[0];
    this.#seen = now;
    if (gap > ASLEEP_MS) this.#onWake();
  }
}
