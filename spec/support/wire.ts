import { Credentials } from '../../gateway/auth/credentials.ts';
import type { Backend } from '../../gateway/backend.ts';
import { assemble } from '../../gateway/gateway.ts';
import type { Dispatcher } from '../../gateway/http/dispatcher.ts';
import { InFlight } from '../../gateway/http/in-flight.ts';
import { ParserPool } from '../../gateway/http/parsing/parser-pool.ts';
import { HeadReader, type RequestHead } from '../../gateway/transport/head.ts';
import type { AnswerBody, AnswerHead, Incoming } from '../../gateway/transport/transport.ts';
import { PACKAGE_VERSION } from '../../gateway/version.ts';
import { SILENT } from './silent.ts';

export interface WireRequest {
  method: string;
  /** With the query. */
  path: string;
  headers?: Record<string, string>;
  body?: string | undefined;
}

export interface WireAnswer {
  status: number;
  headers: (readonly [string, string])[];
  body: string;
}

/** One request on its way through the gateway. */
export interface WireCall {
  /** Rejects when the client hung up, or the server was cut off, before the answer. */
  readonly answer: Promise<WireAnswer>;
  /** The client goes away; does nothing once the answer is written. */
  hangUp(): void;
}

/**
 * The real gateway without its socket: requests go through the same dispatcher, with the same checks, and only
 * the transport is stood in for. For simulations, where the network is theirs to play.
 */
export class Wire {
  readonly #dispatcher: Dispatcher;

  constructor(backend: Backend, auth = Credentials.from()) {
    const options = {
      backend: backend,
      host: '127.0.0.1',
      port: 0,
      auth,
      facts: { service: 'jq-cluster', version: PACKAGE_VERSION, allowPythonJobs: false },
      log: SILENT,
      dashboard: () => '',
    };
    const streams = () => {
      throw new Error('there are no streams without a socket');
    };
    const readers = new ParserPool();
    const parts = { inFlight: new InFlight(), readers, streams, closing: () => false };
    this.#dispatcher = assemble(options, parts);
  }

  request(request: WireRequest): WireCall {
    const played = new PlayedRequest(request);
    this.#dispatcher.handle(played);
    return { answer: played.answered, hangUp: () => played.hangUp() };
  }
}

function headOf({ method, path, headers = {}, body }: WireRequest): RequestHead {
  const [url = '', query = ''] = path.split(/\?(.*)/s);
  const reader = new HeadReader();
  reader.add('host', '127.0.0.1');
  for (const [name, value] of Object.entries(headers)) reader.add(name.toLowerCase(), value);
  if (body !== undefined) reader.add('content-length', String(Buffer.byteLength(body)));
  return reader.head(method, url, query);
}

/** What the dispatcher answers. */
class PlayedRequest implements Incoming {
  readonly peer = undefined;
  readonly head: RequestHead;
  readonly upgradable = false;
  readonly answered: Promise<WireAnswer>;
  readonly #body: string;
  #over = false;
  #onAborted: () => void = () => {};
  #resolve: (answer: WireAnswer) => void = () => {};
  #reject: (fault: Error) => void = () => {};

  constructor(request: WireRequest) {
    this.head = headOf(request);
    this.#body = request.body ?? '';
    this.answered = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.answered.catch(() => {});
  }

  hangUp(): void {
    if (this.#over) return;
    this.#over = true;
    this.#onAborted();
    this.#reject(new Error('the connection was cut'));
  }

  onAborted(callback: () => void): void {
    this.#onAborted = callback;
  }

  /** The body is handed over after the handler has returned. */
  onData(take: (data: Uint8Array, isLast: boolean) => void): void {
    queueMicrotask(() => {
      if (!this.#over) take(Buffer.from(this.#body), true);
    });
  }

  answer({ status, headers }: AnswerHead, body: string | Uint8Array | undefined, done: () => void): void {
    if (this.#over) throw new Error('answered twice, or after the client had gone');
    this.#over = true;
    this.#resolve({ status, headers: [...headers], body: Buffer.from(body ?? '').toString('utf8') });
    done();
  }

  begin(head: AnswerHead): AnswerBody {
    const chunks: Uint8Array[] = [];
    return {
      write: async (chunk) => void chunks.push(Buffer.from(chunk)),
      end: async () => {
        this.answer(head, Buffer.concat(chunks), () => {});
        return true;
      },
    };
  }

  close(): void {
    this.hangUp();
  }

  pause(): void {}
  resume(): void {}
  async readyToUpgrade(): Promise<void> {}
  upgrade(): void {}
}
