/** docs/protocol.md#logs. */
const MAX_EVENT_BYTES = 16 * 1024;
/** Kept for the line that says how much was left out. */
const MARKER_BYTES = 64;
/** Text that waits for a server that is away: a minute of the most that a task may tell. */
const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * The text of log events that wait to be sent, in order. An event takes 16 KiB, and all that wait 1 MiB; only what
 * exceeds that is left out, in one place, with a line there that says exactly how much.
 */
export class LogText {
  /** Whole events, the oldest first. */
  #events: string[] = [];
  #waitingBytes = 0;
  /** The event that is being filled. */
  #lines: string[] = [];
  #bytes = 0;
  #leftOut = { lines: 0, bytes: 0 };

  /** @param ended whether a line end follows; a line that is too long comes in pieces */
  add(line: string, ended: boolean): void {
    const size = Buffer.byteLength(line) + (ended ? 1 : 0);
    const isFull = this.#leftOut.bytes > 0 || this.#bytes + size + 1 > MAX_EVENT_BYTES - MARKER_BYTES;
    if (isFull) {
      this.#leftOut.bytes += size;
      if (ended) this.#leftOut.lines++;
    } else {
      this.#lines.push(line);
      this.#bytes += size;
      // Pieces are shown below each other.
      if (!ended) this.#bytes++;
    }
  }

  /** Ends the event that is being filled, if there is anything in it and room for it among those that wait. */
  seal(): void {
    if (this.#lines.length === 0 && this.#leftOut.bytes === 0) return;
    const text = [...this.#lines, ...marker(this.#leftOut)].join('\n');
    const bytes = Buffer.byteLength(text);
    if (this.#waitingBytes + bytes > MAX_WAITING_BYTES) return;
    this.#events.push(text);
    this.#waitingBytes += bytes;
    this.#lines = [];
    this.#bytes = 0;
    this.#leftOut = { lines: 0, bytes: 0 };
  }

  get empty(): boolean {
    return this.#events.length === 0 && this.#lines.length === 0 && this.#leftOut.bytes === 0;
  }

  /** The oldest that wait. They go on waiting until `sent`. */
  first(count: number): string[] {
    return this.#events.slice(0, count);
  }

  /** So many of the oldest have arrived. */
  sent(count: number): void {
    for (const text of this.#events.splice(0, count)) this.#waitingBytes -= Buffer.byteLength(text);
  }

  clear(): void {
    this.sent(this.#events.length);
    this.#lines = [];
    this.#bytes = 0;
    this.#leftOut = { lines: 0, bytes: 0 };
  }
}

const marker = ({ lines, bytes }: { lines: number; bytes: number }): string[] =>
  bytes > 0 ? [`[… ${lines} ${lines === 1 ? 'line' : 'lines'}, ${bytes} bytes left out]`] : [];
