import { declaredLength, isChunked, type RequestHead } from '../../transport/head.ts';
import { bodyTooLarge } from '../reply/refusal.ts';
import type { BodyShare } from './body-budget.ts';
import { ClientGoneError, type Exchange } from './exchange.ts';

export const hasBody = (head: RequestHead) => isChunked(head) || declaredLength(head) > 0;

/**
 * The bytes of a body. Must be called before the handler's first await, or bytes are lost.
 * @throws ClusterError `body_too_large` by the bytes that came, whatever was declared; `overloaded`; ClientGoneError
 */
export function readBody(exchange: Exchange, limit: number, share: BodyShare): Promise<Buffer> {
  if (!hasBody(exchange.head)) return Promise.resolve(Buffer.alloc(0));
  const chunks: Buffer[] = [];
  const take = (chunk: Uint8Array) => {
    share.take(chunk.byteLength);
    chunks.push(Buffer.from(chunk));
  };
  return consume(exchange, limit, take, () =>
    chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks),
  );
}

/** Counts a body and discards it, for a request that is refused anyway unless it is too large. */
export function discardBody(exchange: Exchange, limit: number): Promise<void> {
  return hasBody(exchange.head) ? consume(exchange, limit, ignore, ignore) : Promise.resolve();
}

const ignore = () => {};

/**
 * Resolves to what `whole` gives behind the last chunk. The one passed to `take` is only valid during the call; the server
 * takes its memory back. What comes after a refusal is let go.
 */
function consume<Whole>(
  exchange: Exchange,
  limit: number,
  take: (chunk: Uint8Array) => void,
  whole: () => Whole,
): Promise<Whole> {
  return new Promise((resolve, reject) => {
    let size = 0;
    let refused = false;
    exchange.onAbort(() => reject(new ClientGoneError()));
    exchange.incoming.onData((data, isLast) => {
      if (refused) return;
      try {
        size += data.byteLength;
        if (size > limit) throw bodyTooLarge(limit);
        take(data);
        if (isLast) resolve(whole());
      } catch (error) {
        refused = true;
        reject(error);
      }
    });
  });
}
