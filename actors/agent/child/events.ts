import type { ReportedEvent } from '../../../machines/schema/report.ts';

/** Contract, "Logs". */
const INTERVAL_MS = 1_000;
const MAX_BYTES = 16 * 1024;
/** Kept for the line that says how much was left out. */
const MARKER_BYTES = 64;

/** Sends events; rejects when they did not arrive. */
type Send = (events: ReportedEvent[]) => Promise<unknown>;

/**
 * What a running task tells: lines of its output joined to at most one `log` event a second, and its progress
 * at most once a second; the last state always arrives. What cannot be sent counts as left out: the whole
 * log is an artifact in the end.
 */
export class TaskEvents {
  readonly #send: Send;
  #lines: string[] = [];
  #bytes = 0;
  /** Bytes of earlier events that did not arrive. */
  #lost = 0;
  /** Bytes for which this event has no room. */
  #leftOut = 0;
  #progress: ReportedEvent | null = null;
  #resting: NodeJS.Timeout | null = null;
  #sending: Promise<void> | null = null;
  #closed = false;

  constructor(send: Send) {
    this.#send = send;
  }

  log(line: string): void {
    const size = Buffer.byteLength(line) + 1;
    if (this.#leftOut > 0 || this.#bytes + size > MAX_BYTES - 2 * MARKER_BYTES) this.#leftOut += size;
    else {
      this.#lines.push(line);
      this.#bytes += size;
    }
    this.#wake();
  }

  progress(progress: number, message: string): void {
    this.#progress = { type: 'progress', level: 'info', message, progress };
    this.#wake();
  }

  /** Sends what waits, once, and takes no more. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#resting) clearTimeout(this.#resting);
    await this.#sending;
    await this.#flush();
  }

  /** Forgets what waits, and takes no more. */
  drop(): void {
    this.#closed = true;
    if (this.#resting) clearTimeout(this.#resting);
  }

  #wake(): void {
    // A moment's delay joins the lines that a program writes at once.
    if (!this.#closed && !this.#resting) this.#rest(INTERVAL_MS / 20);
  }

  #rest(ms: number): void {
    this.#resting = setTimeout(() => {
      this.#resting = null;
      // While one request is under way, the next one fills.
      if (this.#sending || this.#flush()) this.#rest(INTERVAL_MS);
    }, ms);
  }

  /** Sends what waits; null when there is nothing. */
  #flush(): Promise<void> | null {
    const events = this.#take();
    if (events.length === 0) return null;
    const sending = this.#send(events).then(
      () => {},
      () => this.#giveBack(events),
    );
    this.#sending = sending.finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  #take(): ReportedEvent[] {
    const events: ReportedEvent[] = [];
    const text = [...marker(this.#lost), ...this.#lines, ...marker(this.#leftOut)];
    if (text.length > 0) events.push({ type: 'log', level: 'info', message: text.join('\n') });
    if (this.#progress) events.push(this.#progress);
    this.#lines = [];
    this.#bytes = 0;
    this.#lost = 0;
    this.#leftOut = 0;
    this.#progress = null;
    return events;
  }

  /** Events that did not arrive: progress waits for the next turn, the text is counted. */
  #giveBack(events: ReportedEvent[]): void {
    for (const event of events) {
      if (event.type === 'progress') this.#progress ??= event;
      else this.#lost += Buffer.byteLength(event.message ?? '');
    }
    this.#wake();
  }
}

const marker = (bytes: number): string[] => (bytes > 0 ? [`[… ${bytes} bytes left out]`] : []);
