import type { Readable } from 'node:stream';
import type { TaskEvents } from './events.ts';
import { Lines, parseProgress } from './lines.ts';
import type { LogFile } from './log-file.ts';

/** Bytes of the end of stderr that are kept for an error report. */
const TAIL_BYTES = 16 * 1024;

/** Takes what a child writes: all of it to the log file, its lines to events, the end of stderr to memory. */
export class Output {
  readonly #log: LogFile;
  readonly #events: TaskEvents;
  #tail = Buffer.alloc(0);

  constructor(log: LogFile, events: TaskEvents) {
    this.#log = log;
    this.#events = events;
  }

  stdout(stream: Readable): void {
    this.#attach(stream, (line, ended) => {
      const progress = parseProgress(line);
      if (progress) this.#events.progress(progress.progress, progress.message);
      else this.#events.log(line, ended);
    });
  }

  stderr(stream: Readable): void {
    this.#attach(stream, (line, ended) => this.#events.log(line, ended));
    stream.on('data', (chunk: Buffer) => {
      this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-TAIL_BYTES);
    });
  }

  /** The last lines that the child wrote to stderr. */
  get errorText(): string {
    return this.#tail.toString('utf8').trim();
  }

  #attach(stream: Readable, take: (line: string, ended: boolean) => void): void {
    const lines = new Lines(take);
    stream.on('data', (chunk: Buffer) => {
      lines.write(chunk);
      if (this.#log.write(chunk)) return;
      // The disk is slower than the child: let it wait rather than keep its output in memory.
      stream.pause();
      void this.#log.drained().then(() => stream.resume());
    });
    stream.on('error', () => {});
    stream.once('close', () => lines.end());
  }
}
