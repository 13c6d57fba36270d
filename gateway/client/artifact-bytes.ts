import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../machines/protocol/app-error.ts';
import type { ClusterClient } from './client.ts';
import { BrokenOffError, ResponseError, unreachable } from './errors.ts';

/** How often a download is begun or taken up. */
const TRIES = 5;
/** Milliseconds before it is taken up again; doubled each time. */
const PAUSE_MS = 100;

/**
 * The bytes of an artifact, as they come. A download that breaks off is taken up again behind what has come.
 * @throws BrokenOffError when that did not help, else as `ClusterClient.download`
 */
export async function* artifactBytes(
  client: ClusterClient,
  id: string,
  { signal }: { signal?: AbortSignal } = {},
): AsyncGenerator<Buffer, void> {
  let got = 0;
  for (let tries = 1; ; tries++) {
    try {
      for await (const chunk of await bytesFrom(client, id, { from: got, signal })) {
        got += chunk.length;
        yield chunk;
      }
      return;
    } catch (error) {
      if (signal?.aborted || error instanceof ResponseError) throw error;
      if (got === 0) throw error instanceof AppError ? error : unreachable(client.server, error);
      if (tries === TRIES) throw new BrokenOffError(id, got, error);
    }
    await delay(PAUSE_MS * 2 ** (tries - 1), undefined, { signal });
  }
}

async function bytesFrom(
  client: ClusterClient,
  id: string,
  { from, signal }: { from: number; signal: AbortSignal | undefined },
): Promise<AsyncIterable<Buffer>> {
  const { status, body } = await client.download(id, {
    ...(from > 0 && { range: `bytes=${from}-` }),
    ...(signal && { signal }),
  });
  // Who does not know ranges sends everything once more.
  return status === 206 ? body : behind(body, from);
}

async function* behind(body: AsyncIterable<Buffer>, from: number): AsyncGenerator<Buffer> {
  let left = from;
  for await (const chunk of body) {
    if (chunk.length > left) yield chunk.subarray(left);
    left = Math.max(0, left - chunk.length);
  }
}
