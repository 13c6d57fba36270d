import type { Clock, Timing } from './clock.ts';

export interface HearingOptions {
  /** Seconds between two looks at the time. Of what a look comes later than twice that, nothing counts. */
  tick: number;
  /** Calls back after so many rounds of the event loop, in each of which sockets are read. */
  afterRounds(rounds: number, callback: () => void): void;
}

const SYSTEM: HearingOptions = {
  tick: 0.1,
  afterRounds(rounds, callback) {
    if (rounds === 0) callback();
    else setImmediate(() => SYSTEM.afterRounds(rounds - 1, callback));
  },
};

/** Seconds; less than a microsecond is what sums of fractions leave over. */
const SMALLEST = 1e-6;

/** Rounds after which a request that waits in a socket is a message: accepted, read and parsed. */
const READING = 16;

/**
 * The time in which this process could hear its peers (docs/semantics.md#time): a monotonic clock that hardly goes on
 * while the process stands still, is suspended, or is too busy to read its sockets. It looks at the time every tenth
 * of a second; between two looks the sockets have been read, and of a longer gap only two tenths count. So it always
 * goes on, by as much as the process has listened, however often it stalls.
 *
 * What comes due does so after what waits in the sockets has been read: whoever spoke in time is heard first.
 */
export class HearingClock implements Timing {
  readonly #clock: Clock;
  readonly #options: HearingOptions;
  #heard = 0;
  #lookedAt: number;
  /** Timers that are set; while there are none, it does not look, and stands. */
  #set = 0;
  #isLooking = false;

  constructor(clock: Clock, options = SYSTEM) {
    this.#clock = clock;
    this.#options = options;
    this.#lookedAt = clock.monotonic();
  }

  monotonic(): number {
    const gap = this.#clock.monotonic() - this.#lookedAt;
    return this.#heard + Math.min(gap, 2 * this.#options.tick);
  }

  timer(seconds: number, callback: () => void): () => void {
    const at = this.monotonic() + Math.max(0, seconds);
    let isSet = true;
    let cancelTimer = () => {};
    const unset = () => {
      cancelTimer();
      if (isSet) this.#set--;
      isSet = false;
    };
    const fire = () => {
      if (!isSet) return;
      unset();
      callback();
    };
    const check = () => {
      const left = at - this.monotonic();
      if (left > SMALLEST) cancelTimer = this.#clock.timer(left, check);
      else this.#options.afterRounds(READING, fire);
    };
    this.#set++;
    if (!this.#isLooking) this.#tick();
    check();
    return unset;
  }

  #tick(): void {
    this.#isLooking = this.#set > 0;
    if (!this.#isLooking) return;
    const { tick, afterRounds } = this.#options;
    this.#clock.timer(tick, () =>
      afterRounds(1, () => {
        this.#heard = this.monotonic();
        this.#lookedAt = this.#clock.monotonic();
        this.#tick();
      }),
    );
  }
}
