import { ClientGoneError, type Exchange } from './exchange.ts';

/** Bytes held back while the reader is busy, before the client is made to wait. */
const HIGH_WATER = 256 * 1024;

/**
 * A request body as a stream that makes the client wait when its reader does: memory stays constant whatever
 * comes. Must be made before the handler's first await, or bytes are lost.
 */
export class BodyStream {
  readonly #exchange: Exchange;
  readonly #chunks: Buffer[] = [];
  #held = 0;
  #ended = false;
  #paused = false;
  #stopped = false;
  #wake: () => void = () => {};

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
    exchange.onAbort(() => this.#wake());
    exchange.incoming.onData((data, isLast) => {
      if (this.#stopped) return;
      // A copy, since the server reuses the memory after this call.
      if (data.byteLength > 0) this.#chunks.push(Buffer.from(data));
      this.#held += data.byteLength;
      this.#ended = isLast;
      if (this.#held > HIGH_WATER && !isLast) this.#pause();
      this.#wake();
    });
  }

  /** Reads to the end, or until it is discarded. Throws `ClientGoneError` when the client breaks off. */
  async *read(): AsyncGenerator<Buffer, void, void> {
    for (;;) {
      if (this.#exchange.aborted) throw new ClientGoneError();
      if (this.#stopped) return;
      const chunk = this.#chunks.shift();
      if (chunk) {
        this.#held -= chunk.length;
        yield chunk;
      } else if (this.#ended) return;
      else await this.#more();
    }
  }

  /** Ends the reading and discards what is held and what still comes, so that the answer can be sent. */
  discard(): void {
    this.#stopped = true;
    this.#chunks.length = 0;
    this.#resume();
    this.#wake();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#resume();
    });
  }

  #pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#exchange.incoming.pause();
  }

  #resume(): void {
    if (!this.#paused || this.#exchange.aborted || this.#exchange.answered) return;
    this.#paused = false;
    this.#exchange.incoming.resume();
  }
}
