import type { ReportedEvent } from '../../../machines/schema/report.ts';
import { LogText } from './log-text.ts';

/** docs/protocol.md#logs. */
const INTERVAL_MS = 1_000;
/** Events of text in one request. */
const MOST_AT_ONCE = 16;
/** Intervals between two tries at a server that does not take them, at most. */
const LONGEST_REST = 10;

/**
 * Sends events. Resolves also where the server will never take them, as when the task is another's by now; rejects
 * where it may take them later.
 */
type Send = (events: ReportedEvent[]) => Promise<unknown>;

/**
 * What a running task tells: lines of its output joined to at most one `log` event a second, and its progress
 * at most once a second; the last state always arrives. While the server is away, events wait and are sent later,
 * in their order; `LogText` says how many. Should an answer get lost, its text arrives twice.
 */
export class TaskEvents {
  readonly #send: Send;
  readonly #text = new LogText();
  #progress: ReportedEvent | null = null;
  /** Tries in a row that failed, and the intervals that are still to pass before the next one. */
  #failures = 0;
  #rests = 0;
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<void> | null = null;
  #closed = false;

  constructor(send: Send) {
    this.#send = send;
  }

  /** @param ended whether a line end follows; a line that is too long comes in pieces */
  log(line: string, ended = true): void {
    if (this.#closed) return;
    this.#text.add(line, ended);
    this.#wake();
  }

  progress(progress: number, message: string): void {
    if (this.#closed) return;
    this.#progress = { type: 'progress', level: 'info', message, progress };
    this.#wake();
  }

  /** Takes no more, and sends what waits: again and again while the server is away, until it is told to give up. */
  async close(giveUp: AbortSignal): Promise<void> {
    this.#closed = true;
    this.#stop();
    await this.#sending;
    await this.#flush();
    while (this.#waits && !giveUp.aborted) {
      await pause(this.#rests * INTERVAL_MS, giveUp);
      if (!giveUp.aborted) await this.#flush();
    }
  }

  /** Forgets what waits, and takes no more. */
  drop(): void {
    this.#closed = true;
    this.#stop();
    this.#text.clear();
    this.#progress = null;
  }

  get #waits(): boolean {
    return this.#progress !== null || !this.#text.empty;
  }

  #wake(): void {
    // A moment's delay joins the lines that a program writes at once.
    if (!this.#closed && !this.#timer) this.#tick(INTERVAL_MS / 20);
  }

  #tick(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = null;
      // Each interval has an event of its own, whether or not it can be sent now.
      this.#text.seal();
      if (this.#rests > 0) this.#rests--;
      if (!this.#sending && this.#rests === 0) void this.#flush();
      if (this.#sending || this.#waits) this.#tick(INTERVAL_MS);
    }, ms);
  }

  #stop(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Sends what waits, as far as it fits into one request. Never rejects. */
  async #flush(): Promise<void> {
    this.#text.seal();
    const texts = this.#text.first(MOST_AT_ONCE);
    const progress = this.#progress;
    const events: ReportedEvent[] = texts.map((message) => ({ type: 'log', level: 'info', message }));
    if (progress) events.push(progress);
    if (events.length === 0) return;
    this.#sending = this.#send(events).then(
      () => {
        this.#text.sent(texts.length);
        if (this.#progress === progress) this.#progress = null;
        this.#failures = 0;
      },
      () => {
        this.#rests = Math.min(LONGEST_REST, 2 ** this.#failures++);
      },
    );
    await this.#sending.finally(() => {
      this.#sending = null;
    });
  }
}

/** Resolves after so many milliseconds, or at once when aborted. */
function pause(ms: number, aborted: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      aborted.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    aborted.addEventListener('abort', done, { once: true });
  });
}
