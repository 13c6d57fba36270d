import { PACKAGE_VERSION, SERVICE_NAME } from '../../../gateway/version.ts';
import type { Timing } from '../../shared/clock.ts';
import { type Message, signed } from './sign.ts';

/** Who is told of the ends of jobs. */
export interface Receiver {
  readonly url: string;
  /** What bodies are signed with; the receiver has it, too. */
  readonly key: Uint8Array;
}

/** Seconds that the receiver has for its answer. */
const LONGEST = 10;

/**
 * Sends a body once.
 * @param signal breaks it off
 * @returns why the receiver does not have it; null where it has said so, by a status from 200 to 299
 */
export async function post(
  { url, key }: Receiver,
  message: Message,
  clock: Timing,
  signal: AbortSignal,
): Promise<string | null> {
  const late = new AbortController();
  const cancelTimer = clock.timer(LONGEST, () => late.abort());
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        ...signed(message, key),
        'content-type': 'application/json',
        'user-agent': `${SERVICE_NAME}/${PACKAGE_VERSION}`,
      },
      body: message.body,
      // What is signed for one address is for no other.
      redirect: 'manual',
      signal: AbortSignal.any([signal, late.signal]),
    });
    await response.body?.cancel();
    return refusalIn(response);
  } catch (fault) {
    return late.signal.aborted ? `it did not answer within ${LONGEST} s` : wordsFor(fault as Error);
  } finally {
    cancelTimer();
  }
}

function refusalIn({ ok, status }: Response): string | null {
  if (ok) return null;
  const isRedirect = status >= 300 && status < 400;
  return isRedirect ? `it answered ${status}: redirects are not followed` : `it answered ${status}`;
}

/** `fetch` says why in the cause alone. */
function wordsFor({ message, cause }: Error): string {
  const { code, message: why } = (cause ?? {}) as { code?: string; message?: string };
  return `it cannot be reached (${code ?? (why || message)})`;
}
