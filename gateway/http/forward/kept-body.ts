import { BodyStream } from '../request/body-stream.ts';
import type { Exchange } from '../request/exchange.ts';

/** Bytes that are kept, so that they can be sent once more. */
const KEPT = 64 * 1024;

/**
 * A body that is sent on while it comes. What is small is kept, for another server, should one say that it has accepted
 * nothing. Must be made before the handler's first await, or bytes are lost.
 */
export class KeptBody {
  readonly #source: BodyStream;
  readonly #rest: AsyncGenerator<Buffer, void, void>;
  #kept: Buffer[] = [];
  #size = 0;

  constructor(exchange: Exchange) {
    this.#source = new BodyStream(exchange);
    this.#rest = this.#source.read();
  }

  /** Whether all that was read so far can be read again. */
  get isWhole(): boolean {
    return this.#size <= KEPT;
  }

  /** From its beginning, which is there as long as it is whole. Throws `ClientGoneError` when the client breaks off. */
  async *read(): AsyncGenerator<Buffer, void, void> {
    yield* [...this.#kept];
    // Left where a reader stops, for the next one.
    for (let next = await this.#rest.next(); !next.done; next = await this.#rest.next()) {
      this.#keep(next.value);
      yield next.value;
    }
  }

  /** What is left of it is let go. */
  discard(): void {
    this.#source.discard();
    this.#kept = [];
  }

  #keep(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.isWhole) this.#kept.push(chunk);
    else this.#kept = [];
  }
}
