import type { AnswerBody } from '../transport.ts';
import type { UwsResponse } from './library.ts';

/**
 * Bytes handed to the library at once. More than its buffer for gathered packets holds (16 KiB), so that the answer
 * to a write tells of the socket; and so many that a page is few calls, since each costs three of the kernel.
 */
const PIECE = 128 * 1024;
/** Bytes with which it is found out whether the socket has taken what came before. */
const PROBE = 512;

/**
 * A body in chunks (RFC 9112, 7.1). What the socket does not take, the library keeps, and it goes on with that only
 * when it is written to again. So once it has kept something, each time the socket is writable a small probe is
 * written, until one of them says that nothing is kept any more: what is kept cannot grow, however slowly the client
 * reads.
 */
export class UnknownLengthBody implements AnswerBody {
  readonly #res: UwsResponse;
  readonly #writeHead: () => void;
  #headSent = false;
  #gone = false;
  /** The library keeps something that the socket did not take. */
  #blocked = false;
  #writable: () => void = () => {};

  constructor(res: UwsResponse, writeHead: () => void) {
    this.#res = res;
    this.#writeHead = writeHead;
    res.onWritable(() => {
      this.#writable();
      return true;
    });
  }

  gone(): void {
    this.#gone = true;
    this.#writable();
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.byteLength && !this.#gone; ) {
      const piece = chunk.subarray(at, at + (this.#blocked ? PROBE : PIECE));
      at += piece.byteLength;
      if (!this.#take(piece)) await this.#room();
    }
  }

  async end(): Promise<boolean> {
    if (this.#gone) return true;
    this.#res.cork(() => {
      this.#beginOnce();
      // Without asking for the connection's end: the library would tell of it in the middle of the body.
      this.#res.end();
    });
    return true;
  }

  #take(piece: Uint8Array): boolean {
    this.#res.cork(() => {
      this.#beginOnce();
      this.#blocked = !this.#res.write(piece);
    });
    return !this.#blocked;
  }

  #beginOnce(): void {
    if (!this.#headSent) this.#writeHead();
    this.#headSent = true;
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#writable = resolve;
    });
  }
}
