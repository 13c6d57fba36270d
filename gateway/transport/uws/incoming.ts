import { setImmediate } from 'node:timers/promises';
import { HeadReader, type RequestHead } from '../head.ts';
import { statusLine } from '../status.ts';
import type { AnswerBody, AnswerHead, Header, Incoming, StreamHandlers } from '../transport.ts';
import type { Anchor } from './anchor.ts';
import { KnownLengthBody } from './known-length-body.ts';
import type { SocketContext, UwsRequest, UwsResponse } from './library.ts';
import { UnknownLengthBody } from './unknown-length-body.ts';

/** Bodies beyond this many characters may not fit into the socket at once. */
const LARGE = 64 * 1024;

/** A copy, since the library's own object dies with the first await. */
function readHead(req: UwsRequest): RequestHead {
  const reader = new HeadReader();
  const add = (name: string, value: string) => reader.add(name, value);
  req.forEach(add);
  return reader.head(req.getMethod().toUpperCase(), req.getUrl(), req.getQuery() ?? '');
}

/** A request that uWebSockets.js took. */
export class UwsIncoming implements Incoming {
  readonly head: RequestHead;
  readonly #res: UwsResponse;
  readonly #anchor: Anchor;
  /** Given for a request that can be upgraded, and only then. */
  readonly #context: SocketContext | undefined;
  #gone: (() => void)[] = [];

  constructor(res: UwsResponse, req: UwsRequest, anchor: Anchor, context?: SocketContext) {
    this.head = readHead(req);
    this.#res = res;
    this.#anchor = anchor;
    this.#context = context;
  }

  /** The system is asked for it, which most requests can do without; the library throws once the request has ended. */
  get peer(): string | undefined {
    try {
      return Buffer.from(this.#res.getRemoteAddressAsText()).toString('latin1');
    } catch {
      return undefined;
    }
  }

  get upgradable(): boolean {
    return this.#context !== undefined;
  }

  onAborted(callback: () => void): void {
    this.#gone.push(callback);
    this.#res.onAborted(() => {
      for (const tell of this.#gone) tell();
    });
  }

  onData(take: (chunk: Uint8Array, isLast: boolean) => void): void {
    this.#res.onData((chunk, isLast) => take(new Uint8Array(chunk), isLast));
  }

  pause(): void {
    this.#res.pause();
  }

  resume(): void {
    this.#res.resume();
  }

  answer(head: AnswerHead, body: string | Uint8Array | undefined, done: () => void): void {
    let complete = true;
    this.#res.cork(() => {
      this.#writeHead(head);
      if (body === undefined || this.head.method === 'HEAD') this.#endWithoutBody(head, body);
      else if (body.length <= LARGE) this.#res.end(body, head.last);
      else complete = this.#endLarge(head, Buffer.from(body), done);
    });
    if (complete) done();
  }

  begin(head: AnswerHead, length: number | null): AnswerBody {
    const writeHead = () => {
      this.#writeHead(head);
      if (head.last) this.#res.writeHeader('Connection', 'close');
    };
    const body =
      length === null
        ? new UnknownLengthBody(this.#res, writeHead)
        : new KnownLengthBody(this.#res, writeHead, length);
    this.#gone.push(() => body.gone());
    return body;
  }

  close(): void {
    this.#res.close();
  }

  async readyToUpgrade(): Promise<void> {
    await this.#anchor.ready();
    // Never while the library parses a request, its own or another's: it would take that one for upgraded.
    await setImmediate();
  }

  upgrade(headers: readonly Header[], stream: StreamHandlers): void {
    const context = this.#context;
    if (!context) throw new Error('the request did not ask for a WebSocket');
    this.#res.cork(() => this.#writeHead({ status: 101, headers, last: false }));
    (this.#anchor.response ?? this.#res).cork(() => {
      // No subprotocol and no compression are offered, so none is agreed to.
      this.#res.upgrade(stream, this.head.headers['sec-websocket-key'] ?? '', '', '', context);
    });
  }

  #writeHead({ status, headers }: AnswerHead): void {
    this.#res.writeStatus(statusLine(status));
    for (const [name, value] of headers) this.#res.writeHeader(name, value);
  }

  /** Without arguments, since the library takes even an undefined length for one, and then waits for the body. */
  #endWithoutBody({ last }: AnswerHead, body: string | Uint8Array | undefined): void {
    if (body !== undefined) this.#res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
    if (last) this.#res.writeHeader('Connection', 'close');
    this.#res.endWithoutBody();
  }

  /** In pieces, as the socket takes them, so that it is known to be under way until the last one is out. */
  #endLarge({ last }: AnswerHead, body: Buffer, done: () => void): boolean {
    if (last) this.#res.writeHeader('Connection', 'close');
    this.#res.onWritable((offset) => {
      const [ok, complete] = this.#res.tryEnd(body.subarray(offset), body.length);
      if (complete) done();
      return ok;
    });
    return this.#res.tryEnd(body, body.length)[1];
  }
}
