/** What waits are measured by, in seconds. */
export interface Timing {
  /** Never goes back and knows no date. */
  monotonic(): number;
  /** Calls back once, after `seconds`; returns the way to cancel. Does not keep the process alive. */
  timer(seconds: number, callback: () => void): () => void;
}

/** The one source of time, injected everywhere, so that a simulated clock can stand in. All in seconds. */
export interface Clock extends Timing {
  /** Wall clock: seconds since the epoch, UTC. For people only; it may jump. */
  now(): number;
}

/** Node's timers overflow beyond 2^31 ms and then fire at once. */
const LONGEST_TIMER = 2_000_000;

export const systemClock: Clock = {
  now: () => Date.now() / 1000,
  monotonic: () => performance.now() / 1000,
  timer(seconds, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(seconds, 0), LONGEST_TIMER) * 1000);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
