import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { Credentials } from '../../gateway/auth/credentials.ts';
import type { ClusterPort } from '../../gateway/ports.ts';
import type { Dispatcher } from '../../gateway/server/dispatcher.ts';
import { assemble } from '../../gateway/server/gateway.ts';
import { InFlight } from '../../gateway/server/in-flight.ts';
import { Anchor } from '../../gateway/server/streams/anchor.ts';
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
  headers: [string, string][];
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
 * the HTTP library's two objects are stood in for. For simulations, where the network is theirs to play.
 */
export class Wire {
  readonly #dispatcher: Dispatcher;

  constructor(clusterPort: ClusterPort, auth = Credentials.from()) {
    const options = {
      clusterPort,
      host: '127.0.0.1',
      port: 0,
      auth,
      facts: { service: 'jq-cluster', version: PACKAGE_VERSION, allowPythonJobs: false },
      log: SILENT,
      dashboard: () => '',
    };
    const parts = { inFlight: new InFlight(), anchor: new Anchor(), closing: () => false };
    this.#dispatcher = assemble(options, parts);
  }

  request(request: WireRequest): WireCall {
    const response = new PlayedResponse(request.body ?? '');
    this.#dispatcher.handle(response as unknown as HttpResponse, playedRequest(request));
    return response;
  }
}

function playedRequest({ method, path, headers = {}, body }: WireRequest): HttpRequest {
  const [url = '', query = ''] = path.split(/\?(.*)/s);
  const all: Record<string, string> = { host: '127.0.0.1', ...headers };
  if (body !== undefined) all['content-length'] = String(Buffer.byteLength(body));
  return {
    getMethod: () => method.toLowerCase(),
    getUrl: () => url,
    getQuery: () => query,
    forEach: (look: (name: string, value: string) => void) => {
      for (const [name, value] of Object.entries(all)) look(name.toLowerCase(), value);
    },
  } as unknown as HttpRequest;
}

/** What the dispatcher writes to. */
class PlayedResponse implements WireCall {
  readonly answer: Promise<WireAnswer>;
  readonly #body: string;
  readonly #headers: [string, string][] = [];
  #status = 200;
  #over = false;
  #onAborted: () => void = () => {};
  #resolve: (answer: WireAnswer) => void = () => {};
  #reject: (fault: Error) => void = () => {};

  constructor(body: string) {
    this.#body = body;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.answer.catch(() => {});
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

  /** The library hands the body over after the handler has returned. */
  onData(take: (data: ArrayBuffer, isLast: boolean) => void): void {
    const bytes = new TextEncoder().encode(this.#body);
    queueMicrotask(() => {
      if (!this.#over) take(bytes.buffer as ArrayBuffer, true);
    });
  }

  cork(write: () => void): void {
    write();
  }

  writeStatus(line: string): void {
    this.#status = Number.parseInt(line, 10);
  }

  writeHeader(name: string, value: string): void {
    this.#headers.push([name, value]);
  }

  end(body: string | Uint8Array = ''): void {
    if (this.#over) throw new Error('answered twice, or after the client had gone');
    this.#over = true;
    this.#resolve({ status: this.#status, headers: this.#headers, body: Buffer.from(body).toString('utf8') });
  }

  endWithoutBody(): void {
    this.end();
  }

  tryEnd(body: Uint8Array): [boolean, boolean] {
    this.end(body);
    return [true, true];
  }

  onWritable(): void {}
  pause(): void {}
  resume(): void {}
}
