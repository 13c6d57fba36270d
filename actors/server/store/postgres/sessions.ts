import type { Client } from 'pg';

/** Milliseconds until a session that does not answer is taken for broken, and its outcome looked for on another one. */
const SILENCE_MS = 30_000;

/**
 * For how long a server that leads may say nothing, in milliseconds, until another one takes over; and the database, to questions that it
 * answers at once, until another connection to it, or to another host, is tried.
 */
export const LEASE_MS = 8000;

/** What a session is asked, for as long as it may take. */
export async function untilSilent<T>(client: Client, work: Promise<T>, silenceMs = SILENCE_MS): Promise<T> {
  const timer = setTimeout(() => destroy(client), silenceMs);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}

/** What PostgreSQL says beside an answer; those whose code begins so are warnings. */
interface Notice {
  code?: string | undefined;
  message?: string | undefined;
}
const WARNING = '01';

/**
 * What a session writes, as long as nothing is said against it: a commit that was told to wait no longer for the replica is
 * answered like any other, with a warning that it may be lost with this server.
 */
export async function unwarned<T>(client: Client, work: () => Promise<T>): Promise<T> {
  let warning: Notice | null = null;
  const note = (notice: Notice) => {
    if (notice.code?.startsWith(WARNING)) warning = notice;
  };
  client.on('notice', note);
  try {
    const done = await work();
    if (warning !== null) throw new Error((warning as Notice).message ?? 'a warning');
    return done;
  } finally {
    client.off('notice', note);
  }
}

/** Ends a connection at once, whatever is under way; who waits for an answer is told so. */
export function destroy(client: Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}
