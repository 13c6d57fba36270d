import type { Logger } from 'pino';
import { ResponseError } from '../../../gateway/client/errors.ts';
import { type Backoff, sleep, slowWaitMs, waitMs } from './backoff.ts';
import { isAbort, kindOf } from './link-errors.ts';

/** So many answers "internal fault" in a row are taken as the server's last word. */
const MAX_INTERNAL = 8;

export interface Persistence {
  backoff: Backoff;
  log: Logger;
  signal: AbortSignal;
  /** Never give up on a server that answers "internal fault": what would be lost is worth the wait. */
  patient?: boolean;
}

/**
 * Repeats a request until it succeeds: with growing pauses while the server is away or answers 503, slowly
 * while it refuses this program. Throws what the server will never answer otherwise, local faults, and
 * `AbortError` once the signal is aborted.
 */
export async function persist<T>(
  what: string,
  step: () => Promise<T>,
  { backoff, log, signal, patient = false }: Persistence,
): Promise<T> {
  let internal = 0;
  for (let failures = 1; ; failures++) {
    signal.throwIfAborted();
    try {
      return await step();
    } catch (error) {
      if (isAbort(error)) throw error;
      const kind = kindOf(error);
      internal = error instanceof ResponseError && error.status === 500 ? internal + 1 : 0;
      if (kind === 'final' || kind === 'local' || (internal >= MAX_INTERNAL && !patient)) throw error;
      const retryAfter = error instanceof ResponseError ? error.retryAfter : undefined;
      const ms = kind === 'refused' ? slowWaitMs(backoff) : waitMs(backoff, failures, retryAfter);
      log.warn(
        { what, why: (error as Error).message, ms: Math.round(ms) },
        'request failed, will be repeated',
      );
      await sleep(ms, signal);
    }
  }
}
