import type { Client } from 'pg';

/** Milliseconds until a session that does not answer is taken for broken, and its outcome looked for on another one. */
const SILENCE_MS = 30_000;

/** What a session is asked, for as long as it may take. */
export async function untilSilent<T>(client: Client, work: Promise<T>): Promise<T> {
  const timer = setTimeout(() => destroy(client), SILENCE_MS);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

/** Ends a connection at once, whatever is under way; who waits for an answer is told so. */
export function destroy(client: Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
