import { once } from 'node:events';
import { closeSync, createWriteStream, openSync, type WriteStream } from 'node:fs';

/**
 * The log of one attempt on disk, bounded. What exceeds the bound is left out, with a line there that says so and one
 * at the end that says how much, but notes of the worker itself are always written. A disk that is full ends the log,
 * never the run.
 */
export class LogFile {
  /** Opened at once, before a task could put something else in its place; null when that failed. */
  readonly #file: number | null;
  readonly #maxBytes: number;
  /** Made for the first bytes: many tasks say nothing. */
  #stream: WriteStream | null = null;
  #bytes = 0;
  /** Bytes for which there was no room. */
  #leftOut = 0;
  #atLineStart = true;
  #broken: Error | null = null;
  #closed = false;

  constructor(path: string, maxBytes: number) {
    this.#maxBytes = maxBytes;
    try {
      this.#file = openSync(path, 'a');
    } catch (error) {
      this.#file = null;
      this.#broken = error as Error;
    }
  }

  /** Whether there was nothing to write. */
  get empty(): boolean {
    return this.#stream === null && this.#broken === null;
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
    const directory = this.#maxBytes - this.#bytes;
    const part = chunk.length > directory ? chunk.subarray(0, directory) : chunk;
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
    if (this.#stream?.writableNeedDrain && !this.#broken) await once(this.#stream, 'drain');
  }

  /** Writes what waits. Never throws: see `broken`. */
  async close(): Promise<void> {
    const stream = this.#stream;
    if (!stream) return this.#closeUnused();
    if (stream.closed) return;
    if (this.#leftOut > 0 && !stream.writableEnded) this.note(`${this.#leftOut} bytes were left out`);
    await new Promise<void>((resolve) => {
      stream.once('close', resolve);
      stream.end();
    });
  }

  #append(bytes: Buffer): boolean {
    if (bytes.length === 0 || this.#closed) return true;
    this.#bytes += bytes.length;
    this.#atLineStart = bytes.at(-1) === 0x0a;
    this.#stream ??= this.#open();
    return this.#stream.write(bytes);
  }

  #open(): WriteStream {
    const stream = createWriteStream('', { fd: this.#file as number });
    return stream.on('error', (fault) => {
      this.#broken ??= fault;
      stream.emit('drain');
    });
  }

  #closeUnused(): void {
    if (this.#file !== null && !this.#closed) closeSync(this.#file);
    this.#closed = true;
  }
}
