import type { HttpResponse } from 'uWebSockets.js';
import type { Principal, Right } from '../../machines/rights.ts';
import type { RequestHead } from './head.ts';
import type { Header } from './refusal.ts';
import { statusLine } from './status.ts';

/** Bodies beyond this many characters may not fit into the socket at once. */
const LARGE = 64 * 1024;

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
 * One request and its one answer. Guards the server's response object, which must not be touched after the
 * answer or the abort.
 */
export class Exchange {
  readonly res: HttpResponse;
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
  constructor(res: HttpResponse, head: RequestHead, headers: readonly Header[], keeper: ExchangeKeeper) {
    this.res = res;
    this.head = head;
    this.#headers = headers;
    this.#keeper = keeper;
    res.onAborted(() => this.#lost());
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
    if (!this.begin()) return false;
    let complete = true;
    this.res.cork(() => {
      this.writeHead(status, headers);
      if (body === undefined || this.head.method === 'HEAD') this.#endWithoutBody(body);
      else if (body.length <= LARGE) this.res.end(body, this.#keeper.isLast(this));
      else complete = this.#endLarge(status, Buffer.from(body));
    });
    if (complete) this.over(status);
    return true;
  }

  /** Claims the answer for a handler that writes it piece by piece; `over` must follow. */
  begin(): boolean {
    if (this.#gone || this.#state !== 'open') return false;
    this.#state = 'answering';
    return true;
  }

  /** Status line and headers; to be called inside `cork`. */
  writeHead(status: number, headers: readonly Header[]): void {
    this.res.writeStatus(statusLine(status));
    for (const [name, value] of this.#headers) this.res.writeHeader(name, value);
    for (const [name, value] of headers) this.res.writeHeader(name, value);
  }

  /** The answer is complete; the response object must not be used any more. */
  over(status: number): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#keeper.over(this, status);
  }

  /** Without arguments, since the library takes even an undefined length for one, and then waits for the body. */
  #endWithoutBody(body: string | Uint8Array | undefined): void {
    if (body !== undefined) this.res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
    if (this.#keeper.isLast(this)) this.res.writeHeader('Connection', 'close');
    this.res.endWithoutBody();
  }

  /** In pieces, as the socket takes them, so that the exchange is known to be under way until the last one is out. */
  #endLarge(status: number, body: Buffer): boolean {
    if (this.#keeper.isLast(this)) this.res.writeHeader('Connection', 'close');
    this.res.onWritable((offset) => {
      const [ok, complete] = this.res.tryEnd(body.subarray(offset), body.length);
      if (complete) this.over(status);
      return ok;
    });
    return this.res.tryEnd(body, body.length)[1];
  }

  #lost(): void {
    if (this.#state === 'over') return;
    this.#gone = true;
    this.#abort?.abort();
    for (const callback of this.#onGone) callback();
    this.over(0);
  }
}
