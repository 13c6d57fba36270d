import type { Piece, Pieces } from '../../backend.ts';
import type { AnswerBody, Header } from '../../transport/transport.ts';
import type { Exchange } from '../request/exchange.ts';

/** Characters that are gathered before they are sent; an answer that has no more is sent whole, with its length. */
const GATHERED = 64 * 1024;

/**
 * Answers 200 with a text that is read while it is sent: no further than a few pages ahead of what the client takes.
 * Rejects when the text fails before anything of it was sent; later the connection is broken off, so that nobody takes
 * the answer for whole. Resolves to false when the client has gone.
 */
export async function sendPieces(
  exchange: Exchange,
  headers: readonly Header[],
  pieces: Pieces,
): Promise<boolean> {
  const reader = pieces[Symbol.asyncIterator]();
  try {
    const first = await gather(reader);
    if (first.last) return exchange.answer(200, headers, first.body);
    // How long it is would only show at its end, so that HEAD does not say.
    if (exchange.head.method === 'HEAD') return exchange.answer(200, headers);
    const body = exchange.begin(200, headers, null);
    if (!body) return false;
    return await sendAll(exchange, body, first.body, reader);
  } finally {
    await reader.return?.();
  }
}

async function sendAll(
  exchange: Exchange,
  body: AnswerBody,
  first: Piece,
  reader: AsyncIterator<Piece>,
): Promise<boolean> {
  try {
    for (let piece: Gathered = { body: first, last: false }; ; ) {
      // Read while the client takes what was read before.
      const next = piece.last ? undefined : gather(reader);
      next?.catch(() => {});
      await body.write(typeof piece.body === 'string' ? Buffer.from(piece.body) : piece.body);
      // All of it may have been read by then.
      if (exchange.aborted) return piece.last;
      if (!next) break;
      piece = await next;
      if (exchange.aborted) return false;
    }
    void body.end();
    exchange.finish(200);
    return true;
  } catch (error) {
    // The status is out, so all that is left to tell the client is the broken connection.
    if (!exchange.aborted) exchange.incoming.close();
    throw error;
  }
}

interface Gathered {
  body: Piece;
  last: boolean;
}

/** The next pieces together, so that many small ones are few packets. */
async function gather(reader: AsyncIterator<Piece>): Promise<Gathered> {
  const parts: Buffer[] = [];
  let text = '';
  for (let length = 0; ; ) {
    const next = await reader.next();
    const piece = next.done ? '' : next.value;
    length += piece.length;
    if (typeof piece === 'string') text += piece;
    const last = next.done === true;
    const full = last || length >= GATHERED;
    if (full && parts.length === 0 && typeof piece === 'string') return { body: text, last };
    if (text !== '' && (full || typeof piece !== 'string')) {
      parts.push(Buffer.from(text));
      text = '';
    }
    if (typeof piece !== 'string') parts.push(piece);
    if (full) return { body: parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts), last };
  }
}
