import type { Principal, Right } from '../../machines/rights.ts';
import type { RequestHead } from '../transport/head.ts';
import type { AnswerBody, AnswerHead, Header, Incoming, StreamHandlers } from '../transport/port.ts';

/** Thrown inside a handler when the client has gone; nobody is left to answer. */
export class ClientGone extends Error {
  constructor() {
    super('the client closed the connection');
    this.name = 'ClientGone';
  }
}

/** On whose credential a request was let in, and for which right. */
export interface Grant {
  principal: Principal;
  right: Right | null;
}

/** Who keeps watch over the exchanges. */
export interface ExchangeKeeper {
  /** Whether the connection ends with this answer. */
  isLast(exchange: Exchange): boolean;
  /** Called once the handler asks for `signal`, which those do that may wait long. */
  waits(exchange: Exchange): void;
  /** Called once, when the exchange is over; status 0 says that the client went away unanswered. */
  over(exchange: Exchange, status: number): void;
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
  #state: 'open' | 'answering' | 'over' = 'open';
  #gone = false;
  #abort: AbortController | undefined;
  readonly #onGone: (() => void)[] = [];
  readonly #headers: readonly Header[];
  readonly #keeper: ExchangeKeeper;

  /** @param headers of every answer to this request */
  constructor(incoming: Incoming, headers: readonly Header[], keeper: ExchangeKeeper) {
    this.incoming = incoming;
    this.head = incoming.head;
    this.#headers = headers;
    this.#keeper = keeper;
    incoming.onAborted(() => this.#lost());
  }

  /** Whether the client went away before the answer was complete. */
  get gone(): boolean {
    return this.#gone;
  }

  /** Whether an answer has been begun. */
  get answered(): boolean {
    return this.#state !== 'open';
  }

  /** Aborted when the client goes away, or is answered otherwise. Made only for those who ask for it. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#state !== 'over') this.#keeper.waits(this);
    }
    if (this.#gone) this.#abort.abort();
    return this.#abort.signal;
  }

  /** Ends the handler's waiting; the answer that it finds then is not sent any more if there was another. */
  stopWaiting(): void {
    this.#abort?.abort();
  }

  /** Calls back when the client goes away; at once if it has. */
  whenGone(callback: () => void): void {
    if (this.#gone) callback();
    else this.#onGone.push(callback);
  }

  /**
   * Writes a whole answer. Without a body, `Content-Length` is left to `headers`. A HEAD request gets the
   * headers that a GET would. Does nothing when the client has gone or an answer was begun.
   */
  answer(status: number, headers: readonly Header[], body?: string | Uint8Array): boolean {
    if (!this.#claim()) return false;
    this.incoming.answer(this.#headOf(status, headers), body, () => this.#over(status));
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
    this.#over(status);
  }

  /** Becomes a WebSocket. False when the client has gone or an answer was begun. */
  async upgrade(stream: StreamHandlers): Promise<boolean> {
    await this.incoming.readyToUpgrade();
    if (!this.#claim()) return false;
    this.incoming.upgrade(this.#headers, stream);
    this.#over(101);
    return true;
  }

  #claim(): boolean {
    if (this.#gone || this.#state !== 'open') return false;
    this.#state = 'answering';
    return true;
  }

  #headOf(status: number, headers: readonly Header[]): AnswerHead {
    return { status, headers: [...this.#headers, ...headers], last: this.#keeper.isLast(this) };
  }

  #over(status: number): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#keeper.over(this, status);
  }

  #lost(): void {
    if (this.#state === 'over') return;
    this.#gone = true;
    this.#abort?.abort();
    for (const callback of this.#onGone) callback();
    this.#over(0);
  }
}
