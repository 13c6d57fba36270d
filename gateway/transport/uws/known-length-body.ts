import type { AnswerBody } from '../transport.ts';
import type { UwsResponse } from './library.ts';

/** A body whose length is told beforehand: the library takes of each chunk what the socket does. */
export class KnownLengthBody implements AnswerBody {
  readonly #res: UwsResponse;
  readonly #writeHead: () => void;
  readonly #length: number;
  #headSent = false;
  #complete = false;
  #gone = false;
  #chunk: Uint8Array = new Uint8Array();
  /** Where in the body the chunk begins. */
  #offset = 0;
  /** The chunk is out, or nobody is left to take it. */
  #written: () => void = () => {};

  constructor(res: UwsResponse, writeHead: () => void, length: number) {
    this.#res = res;
    this.#writeHead = writeHead;
    this.#length = length;
    res.onWritable((from) => this.#attempt(from));
  }

  gone(): void {
    this.#gone = true;
    this.#written();
  }

  write(chunk: Uint8Array): Promise<void> {
    if (this.#gone || this.#complete) return Promise.resolve();
    return new Promise((resolve) => {
      this.#written = resolve;
      this.#chunk = chunk;
      this.#offset = this.#headSent ? this.#res.getWriteOffset() : 0;
      this.#res.cork(() => {
        if (!this.#headSent) this.#writeHead();
        this.#headSent = true;
        this.#attempt(this.#offset);
      });
    });
  }

  async end(): Promise<boolean> {
    return this.#complete || this.#gone;
  }

  /** Goes on from a byte of the body; false when the socket takes no more for now. */
  #attempt(from: number): boolean {
    const [ok, complete] = this.#res.tryEnd(this.#chunk.subarray(from - this.#offset), this.#length);
    this.#complete = complete;
    if (ok || complete) this.#written();
    return ok;
  }
}
