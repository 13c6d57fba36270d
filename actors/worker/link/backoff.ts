import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds. */
export interface BackoffLimits {
  /** Before the second try. */
  baseMs: number;
  /** The longest wait while the server is away. */
  maxMs: number;
  /** The wait after a refusal that only a person can mend. */
  slowMs: number;
}

export interface Backoff {
  limits: BackoffLimits;
  /** Between 0 and 1. */
  random: () => number;
}

/**
 * How long to wait after so many failures in a row: doubled each time, and spread over half to all of it, so
 * that the workers of a server that comes back do not all ask at once.
 * @param retryAfter seconds that the server asked for; never less is waited
 */
export function waitMs({ limits, random }: Backoff, failures: number, retryAfter?: number): number {
  const full = Math.min(limits.maxMs, limits.baseMs * 2 ** Math.max(0, failures - 1));
  return Math.max(full * (0.5 + random() / 2), Math.min((retryAfter ?? 0) * 1000, limits.slowMs));
}

/** The wait after a refusal. */
export const slowWaitMs = ({ limits, random }: Backoff): number => limits.slowMs * (0.75 + random() / 4);

/** Waits; rejects with `AbortError` when aborted. Keeps the process alive. */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  delay(ms, undefined, signal ? { signal } : {});
