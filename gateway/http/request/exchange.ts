import { randomUUID } from 'node:crypto';
import { AppError } from '../../../machines/protocol/app-error.ts';
import type { Principal, Right } from '../../../machines/protocol/rights.ts';
import type { RequestHead } from '../../transport/head.ts';
import type { AnswerBody, AnswerHead, Header, Incoming, StreamHandlers } from '../../transport/transport.ts';
import type { Endpoint } from '../admission/endpoint.ts';

/** Tells the requests of this process from those of others. */
const PROCESS = randomUUID().slice(0, 8);
let requests = 0;

/** Whatever a client sends is not written to a log, and to its answer, unless it is an id. */
const requestId = (sent: string | undefined): string =>
  sent !== undefined && /^[\w.:-]{1,100}$/.test(sent) ? sent : `${PROCESS}-${(++requests).toString(36)}`;

/** Thrown inside a handler when the client has gone; nobody is left to answer. */
export class ClientGoneError extends AppError {
  readonly code = 'client_gone';

  constructor() {
    super('the client closed the connection');
  }
}

/** On whose credential a request was let in, and for which right. */
export interface Grant {
  principal: Principal;
  right: Right | null;
}

/** Told what becomes of each exchange. */
export interface ExchangeObserver {
  /** Whether the connection ends with this answer. */
  isLast(exchange: Exchange): boolean;
  /** Called once the handler asks for `signal`, which those do that may wait long. */
  waiting(exchange: Exchange): void;
  /** Called once, when the exchange has finished; status 0: the client went away unanswered. */
  finished(exchange: Exchange, status: number): void;
}

/**
 * One request and its one answer. Guards the transport's request, which must not be touched after the answer or
 * the abort.
 */
export class Exchange {
  readonly incoming: Incoming;
  readonly head: RequestHead;
  readonly startedAt = performance.now();
  /** Who asks, once known. */
  grant: Grant | undefined;
  /** What it is for, once known and where there is such a route. */
  endpoint: Endpoint | undefined;
  /** The address that it comes from, where that was looked for while it went on. */
  client: string | undefined;
  #state: 'open' | 'answering' | 'over' = 'open';
  #aborted = false;
  #id: string | undefined;
  #controller: AbortController | undefined;
  readonly #onAbort: (() => void)[] = [];
  readonly #headers: readonly Header[];
  readonly #observer: ExchangeObserver;

  /** @param headers of every answer to this request */
  constructor(incoming: Incoming, headers: readonly Header[], observer: ExchangeObserver) {
    this.incoming = incoming;
    this.head = incoming.head;
    this.#headers = headers;
    this.#observer = observer;
    incoming.onAborted(() => this.#clientGone());
  }

  /** By what log and client name it alike: what the client sent as `X-Request-Id`, else one of the server's. */
  get id(): string {
    this.#id ??= requestId(this.head.headers['x-request-id']);
    return this.#id;
  }

  /** Whether the client went away before the answer was complete. */
  get aborted(): boolean {
    return this.#aborted;
  }

  /** Whether an answer has been begun. */
  get answered(): boolean {
    return this.#state !== 'open';
  }

  /** Aborted when the client goes away, or is answered otherwise. Made only for those who ask for it. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#state !== 'over') this.#observer.waiting(this);
    }
    if (this.#aborted) this.#controller.abort();
    return this.#controller.signal;
  }

  /** Ends the handler's waiting; the answer that it finds then is not sent any more if there was another. */
  stopWaiting(): void {
    this.#controller?.abort();
  }

  /** Calls back when the client goes away; at once if it has. */
  onAbort(callback: () => void): void {
    if (this.#aborted) callback();
    else this.#onAbort.push(callback);
  }

  /**
   * Writes a whole answer. Without a body, `Content-Length` is left to `headers`. A HEAD request gets the
   * headers that a GET would. Does nothing when the client has gone or an answer was begun.
   */
  answer(status: number, headers: readonly Header[], body?: string | Uint8Array): boolean {
    if (!this.#claim()) return false;
    this.incoming.answer(this.#headOf(status, headers), body, () => this.#finished(status));
    return true;
  }

  /**
   * Begins an answer that is written in pieces, of `length` bytes, or null where that is not known; `finish` must
   * follow. Null when the client has gone or an answer was begun.
   */
  begin(status: number, headers: readonly Header[], length: number | null): AnswerBody | null {
    return this.#claim() ? this.incoming.begin(this.#headOf(status, headers), length) : null;
  }

  /** The answer in pieces is complete, or was broken off; the request must not be used any more. */
  finish(status: number): void {
    this.#finished(status);
  }

  /** Becomes a WebSocket. False when the client has gone or an answer was begun. */
  async upgrade(stream: StreamHandlers): Promise<boolean> {
    await this.incoming.readyToUpgrade();
    if (!this.#claim()) return false;
    this.incoming.upgrade(this.#headers, stream);
    this.#finished(101);
    return true;
  }

  #claim(): boolean {
    if (this.#aborted || this.#state !== 'open') return false;
    this.#state = 'answering';
    return true;
  }

  #headOf(status: number, headers: readonly Header[]): AnswerHead {
    return { status, headers: [...this.#headers, ...headers], last: this.#observer.isLast(this) };
  }

  #finished(status: number): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#observer.finished(this, status);
  }

  #clientGone(): void {
    if (this.#state === 'over') return;
    this.#aborted = true;
    this.#controller?.abort();
    for (const callback of this.#onAbort) callback();
    this.#finished(0);
  }
}
