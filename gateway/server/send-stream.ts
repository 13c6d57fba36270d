import type { Readable } from 'node:stream';
import type { Exchange } from './exchange.ts';
import type { Header } from './refusal.ts';

export interface StreamedAnswer {
  status: number;
  headers: readonly Header[];
  /** Exact number of bytes that the stream gives. */
  length: number;
  stream: Readable;
}

/**
 * Writes a stream as an answer of known length. Holds one chunk at a time: the stream waits while the client
 * does. Rejects when the stream fails before its first byte; later the connection is broken off, so that the
 * client sees the answer as incomplete.
 */
export async function sendStream(exchange: Exchange, answer: StreamedAnswer): Promise<void> {
  const { stream } = answer;
  const faults: unknown[] = [];
  // Also hears what fails after the client has gone, when nobody waits for the stream any more.
  stream.on('error', (fault) => faults.push(fault));
  exchange.whenGone(() => stream.destroy());
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await chunks.next();
  if (first.done) throw faults[0] ?? new Error('the stored bytes are missing');
  if (!exchange.begin()) return void stream.destroy();
  try {
    const complete = await new BodySender(exchange, answer).send(first.value, chunks);
    if (!complete) throw new Error('the stored bytes are fewer than recorded');
    exchange.over(answer.status);
  } catch (fault) {
    // The status is out, so all that is left to tell the client is the broken connection.
    if (!exchange.gone) exchange.res.close();
    throw fault;
  } finally {
    stream.destroy();
  }
}

class BodySender {
  readonly #exchange: Exchange;
  readonly #answer: StreamedAnswer;
  #headSent = false;
  #chunk: Buffer = Buffer.alloc(0);
  /** Where in the body the chunk begins. */
  #offset = 0;
  /** Told whether the answer is complete, once the chunk is out. */
  #written: (complete: boolean) => void = () => {};

  constructor(exchange: Exchange, answer: StreamedAnswer) {
    this.#exchange = exchange;
    this.#answer = answer;
    exchange.res.onWritable((from) => this.#attempt(from));
    exchange.whenGone(() => this.#written(false));
  }

  /** Whether all `length` bytes were handed over. Ends early, with true, when the client goes. */
  async send(first: Buffer, rest: AsyncIterator<Buffer>): Promise<boolean> {
    for (let chunk: Buffer = first; ; ) {
      const complete = await this.#write(chunk);
      if (complete || this.#exchange.gone) return true;
      const next = await rest.next();
      if (this.#exchange.gone) return true;
      if (next.done) return false;
      chunk = next.value;
    }
  }

  #write(chunk: Buffer): Promise<boolean> {
    const { res } = this.#exchange;
    return new Promise((resolve) => {
      this.#written = resolve;
      this.#chunk = chunk;
      this.#offset = this.#headSent ? res.getWriteOffset() : 0;
      res.cork(() => {
        if (!this.#headSent) this.#exchange.writeHead(this.#answer.status, this.#answer.headers);
        this.#headSent = true;
        this.#attempt(this.#offset);
      });
    });
  }

  /** Goes on from a byte of the body; false when the socket takes no more for now. */
  #attempt(from: number): boolean {
    const [ok, complete] = this.#exchange.res.tryEnd(
      this.#chunk.subarray(from - this.#offset),
      this.#answer.length,
    );
    if (ok || complete) this.#written(complete);
    return ok;
  }
}
