import { BodyStream } from '../request/body-stream.ts';
import { ClientGoneError, type Exchange } from '../request/exchange.ts';

/** Bytes that are kept, so that they can be sent once more. */
const KEPT = 64 * 1024;

/**
 * A body that is sent on while it comes. What is small is kept, for another server, should one say that it has accepted
 * nothing. Must be made before the handler's first await, or bytes are lost.
 */
export class KeptBody {
  readonly #source: BodyStream;
  readonly #rest: AsyncGenerator<Buffer, void, void>;
  /** From the beginning as long as it is whole, then what no reader has taken yet. */
  readonly #kept: Buffer[] = [];
  #size = 0;
  #isWhole = true;
  #isDiscarded = false;
  /** The next bytes, which are the same for a reader that has stopped and for the one that follows it. */
  #coming: Promise<boolean> | null = null;

  constructor(exchange: Exchange) {
    this.#source = new BodyStream(exchange);
    this.#rest = this.#source.read();
  }

  /** Whether all that was read so far can be read again. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /**
   * From its beginning, which is there as long as it is whole; whoever read before must have stopped. Throws
   * `ClientGoneError` when the client breaks off, or nobody wants the rest.
   */
  async *read(): AsyncGenerator<Buffer, void, void> {
    for (let at = 0; ; ) {
      if (this.#isDiscarded) throw new ClientGoneError();
      if (at >= this.#kept.length && !(await this.#more())) return;
      yield this.#kept[at++] as Buffer;
      if (this.#size <= KEPT) continue;
      // Only one who comes back for more lets go of it: who has stopped leaves it to the next.
      this.#isWhole = false;
      this.#kept.splice(0, at);
      at = 0;
    }
  }

  /** What is left of it is let go. */
  discard(): void {
    this.#isDiscarded = true;
    this.#source.discard();
    this.#kept.length = 0;
  }

  /** False at the end. */
  async #more(): Promise<boolean> {
    this.#coming ??= this.#rest.next().then(({ value }) => {
      this.#coming = null;
      if (!value) return false;
      this.#kept.push(value);
      this.#size += value.length;
      return true;
    });
    const came = await this.#coming;
    // That is no end of it.
    if (this.#isDiscarded) throw new ClientGoneError();
    return came;
  }
}
