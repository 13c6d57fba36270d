import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { declaredLength, HeadReader, isChunked, type RequestHead } from '../head.ts';
import { targetOf } from '../target.ts';
import type { AnswerBody, AnswerHead, Header, Incoming, StreamHandlers } from '../transport.ts';
import { LEAST_BYTES, STALL_TIMEOUT } from './limits.ts';
import { PiecedBody } from './pieced-body.ts';

/** What turns a request into a WebSocket, where it came as one that can become one. */
export type Upgrader = (headers: readonly Header[], stream: StreamHandlers) => void;

const NOTHING = new Uint8Array();

/** @throws nothing: the parser refused before what cannot be read */
function readHead(request: IncomingMessage): RequestHead {
  const reader = new HeadReader();
  const { rawHeaders } = request;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    reader.add((rawHeaders[i] as string).toLowerCase(), rawHeaders[i + 1] as string);
  }
  const { path, query, host } = targetOf(request.url ?? '/');
  if (host !== undefined) reader.headers.host = host;
  return reader.head(request.method ?? 'GET', path, query);
}

/** A request that node:http took. */
export class NodeIncoming implements Incoming {
  readonly head: RequestHead;
  readonly peer: string | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #upgrader: Upgrader | undefined;
  #reading = false;
  /** Bytes of the body that came since then. */
  #came = 0;
  #since = 0;

  constructor(request: IncomingMessage, response: ServerResponse, upgrader?: Upgrader) {
    this.head = readHead(request);
    this.peer = request.socket.remoteAddress;
    this.#request = request;
    this.#response = response;
    this.#socket = request.socket;
    this.#upgrader = upgrader;
    request.on('error', () => {});
    // Only what stalls is dropped; a request that waits for its answer may wait.
    this.#socket.setTimeout(0);
  }

  get upgradable(): boolean {
    return this.#upgrader !== undefined;
  }

  onAborted(callback: () => void): void {
    const response = this.#response;
    let finished = false;
    response.once('finish', () => {
      finished = true;
    });
    const lost = () => {
      this.#socket.off('close', lost);
      response.off('close', lost);
      if (!finished) callback();
    };
    response.on('close', lost);
    // A response whose connection has become another protocol's does not tell.
    this.#socket.on('close', lost);
  }

  onData(take: (chunk: Uint8Array, isLast: boolean) => void): void {
    this.#reading = true;
    this.#expect();
    this.#request.on('data', (chunk: Buffer) => {
      this.#count(chunk);
      take(chunk, false);
    });
    this.#request.once('end', () => {
      // Once there is an answer, the patience is for that.
      if (!this.#response.headersSent) this.#socket.setTimeout(0);
      take(NOTHING, true);
    });
  }

  pause(): void {
    this.#socket.setTimeout(0);
    this.#request.pause();
  }

  resume(): void {
    this.#expect();
    this.#request.resume();
  }

  #expect(): void {
    this.#socket.setTimeout(STALL_TIMEOUT);
    this.#since = performance.now();
    this.#came = 0;
  }

  #count(chunk: Buffer): void {
    this.#came += chunk.byteLength;
    if (performance.now() - this.#since < STALL_TIMEOUT) return;
    if (this.#came < LEAST_BYTES) this.#socket.destroy();
    else this.#expect();
  }

  answer(head: AnswerHead, body: string | Uint8Array | undefined, done: () => void): void {
    const length: Header[] = body === undefined ? [] : [['Content-Length', String(Buffer.byteLength(body))]];
    this.#writeHead(head, length);
    // Who is refused before its body has come may still send it, at no slower a pace.
    const owed = !this.#request.complete && (declaredLength(this.head) > 0 || isChunked(this.head));
    if (owed && !this.#reading) this.onData(() => {});
    this.#response.once('finish', done);
    this.#response.end(this.head.method === 'HEAD' ? undefined : body);
    if (!this.#response.writableFinished) this.#socket.setTimeout(STALL_TIMEOUT);
  }

  begin(head: AnswerHead, length: number | null): AnswerBody {
    this.#writeHead(head, length === null ? [] : [['Content-Length', String(length)]]);
    return new PiecedBody(this.#response, this.#socket, length);
  }

  /** Not in an orderly way: where the end of the connection is the end of the answer, it would look whole. */
  close(): void {
    // TLS knows no reset: it is that of the connection below.
    const below = (this.#socket as { _parent?: Socket })._parent ?? this.#socket;
    below.resetAndDestroy();
    if (below !== this.#socket) this.#socket.destroy();
  }

  async readyToUpgrade(): Promise<void> {}

  upgrade(headers: readonly Header[], stream: StreamHandlers): void {
    if (!this.#upgrader) throw new Error('the request did not ask for a WebSocket');
    this.#upgrader(headers, stream);
  }

  #writeHead({ status, headers, last }: AnswerHead, more: readonly Header[]): void {
    const close: readonly Header[] = last ? [['Connection', 'close']] : [];
    this.#response.writeHead(status, [...headers, ...more, ...close].flat());
  }
}
