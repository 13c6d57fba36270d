import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';

/**
 * The log of one attempt on disk, bounded. What exceeds the bound is left out, with a line there that says so and one at the end that says how much, but
 * notes of the worker itself are always written. A disk that is full ends the log, never the run.
 */
export class LogFile {
  readonly #stream: WriteStream;
  readonly #maxBytes: number;
  #bytes = 0;
  /** Bytes for which there was no room. */
  #leftOut = 0;
  #atLineStart = true;
  #broken: Error | null = null;

  constructor(path: string, maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#stream = createWriteStream(path, { flags: 'a' });
    this.#stream.on('error', (fault) => {
      this.#broken ??= fault;
      this.#stream.emit('drain');
    });
  }

  /** Why nothing is written any more; null while all is well. */
  get broken(): Error | null {
    return this.#broken;
  }

  /** Takes output of the child; false when it should pause until `drained`. */
  write(chunk: Buffer): boolean {
    if (this.#broken || chunk.length === 0) return true;
    if (this.#leftOut > 0) {
      this.#leftOut += chunk.length;
      return true;
    }
    const room = this.#maxBytes - this.#bytes;
    const part = chunk.length > room ? chunk.subarray(0, room) : chunk;
    const ready = this.#append(part);
    if (part.length === chunk.length) return ready;
    this.#leftOut = chunk.length - part.length;
    this.note(`the log exceeds ${this.#maxBytes} bytes; the rest is left out`);
    return true;
  }

  /** A line of the worker's own. */
  note(line: string): void {
    if (this.#broken) return;
    this.#append(Buffer.from(`${this.#atLineStart ? '' : '\n'}[jq-worker] ${line}\n`));
  }

  async drained(): Promise<void> {
    if (this.#stream.writableNeedDrain && !this.#broken) await once(this.#stream, 'drain');
  }

  /** Writes what waits. Never throws: see `broken`. */
  async close(): Promise<void> {
    if (this.#stream.closed) return;
    if (this.#leftOut > 0 && !this.#stream.writableEnded) this.note(`${this.#leftOut} bytes were left out`);
    await new Promise<void>((resolve) => {
      this.#stream.once('close', resolve);
      this.#stream.end();
    });
  }

  #append(bytes: Buffer): boolean {
    if (bytes.length === 0) return true;
    this.#bytes += bytes.length;
    this.#atLineStart = bytes.at(-1) === 0x0a;
    return this.#stream.write(bytes);
  }
}
