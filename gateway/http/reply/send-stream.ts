import type { Readable } from 'node:stream';
import type { AnswerBody, Header } from '../../transport/transport.ts';
import type { Exchange } from '../request/exchange.ts';

export interface StreamedResponse {
  status: number;
  headers: readonly Header[];
  /** Exact number of bytes that the stream gives; null where that is not known beforehand. */
  length: number | null;
  /** Gives buffers. */
  stream: Readable;
}

/**
 * Writes a stream as an answer. Holds one chunk at a time: the stream waits while the client does. Rejects when the
 * stream fails before its first byte; later the connection is broken off, so that the client sees the answer as
 * incomplete.
 */
export async function sendStream(exchange: Exchange, answer: StreamedResponse): Promise<void> {
  const { status, headers, length, stream } = answer;
  const faults: unknown[] = [];
  // Also hears what fails after the client has gone, when nobody waits for the stream any more.
  stream.on('error', (fault) => faults.push(fault));
  exchange.onAbort(() => stream.destroy());
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await chunks.next();
  if (first.done && (length !== null || faults.length > 0)) {
    throw faults[0] ?? new Error('the stored bytes are missing');
  }
  const body = exchange.begin(status, headers, length);
  if (!body) return void stream.destroy();
  try {
    await sendAll(exchange, body, first, chunks);
    exchange.finish(status);
  } catch (error) {
    // The status is out, so all that is left to tell the client is the broken connection.
    if (!exchange.aborted) exchange.incoming.close();
    throw error;
  } finally {
    stream.destroy();
  }
}

async function sendAll(
  exchange: Exchange,
  body: AnswerBody,
  first: IteratorResult<Buffer>,
  rest: AsyncIterator<Buffer>,
): Promise<void> {
  for (let next = first; !next.done; next = await rest.next()) {
    await body.write(next.value);
    if (exchange.aborted) return;
  }
  if (!exchange.aborted && !(await body.end())) throw new Error('the stored bytes are fewer than recorded');
}
