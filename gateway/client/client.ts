import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { Agent, type Dispatcher } from 'undici';
import type { DirectUpload } from '../../machines/schema/direct-upload.ts';
import type { ArtifactUploaded } from '../../machines/schema/views.ts';
import type { JsonRoute, UploadRoute } from '../contract/route.ts';
import { type Routes, routes } from '../contract/routes.ts';
import { API_VERSION, PACKAGE_VERSION } from '../version.ts';
import {
  type Asked,
  type CallInput,
  type JsonName,
  pathOf,
  type RequestTarget,
  type UploadInput,
  type UploadName,
} from './calls.ts';
import { DirectUploads } from './direct-upload.ts';
import { InvalidResponseError, isElsewhere, ResponseError, unreachable, wasNotAccepted } from './errors.ts';
import { FilePart } from './form-data.ts';
import { HttpGetter } from './http-get.ts';
import { type Downloading, ObjectStore } from './object-store.ts';
import { whileThere } from './pulse.ts';
import { LONGEST_ANSWER, readWhole } from './read-whole.ts';
import { entriesOf, type ReplyOf, replyOf } from './replies.ts';
import { type Address, Servers } from './servers.ts';

/** Milliseconds without a byte of an answer. */
const TIMEOUT_MS = 30_000;

export interface ClientOptions {
  /**
   * Base address, such as `http://127.0.0.1:8765` or, behind a proxy, `https://lab.example/jq`; of servers that stand by
   * for each other several, separated by commas.
   */
  server: string;
  token?: string | undefined;
  /** Certificates in PEM, the only ones that vouch for the server; default: those that Node.js knows. */
  ca?: string | undefined;
  /** The advisory role header. */
  role?: 'client' | 'worker';
  /** Milliseconds without a byte of the answer before the request is given up. Default 30,000. */
  timeoutMs?: number;
  /** Told why another address is asked from now on. */
  onLeave?: (fault: unknown) => void;
  /** Bytes of an answer that is no download; a longer one is none of such a server. Default 500 MiB. */
  longestAnswer?: number;
  /**
   * What carries the requests, except downloads; default: sockets of the client's own. Simulations give a network
   * that they play.
   */
  dispatcher?: Dispatcher;
}

/** How the same comes to be without its bytes going through the server. */
const DIRECT = {
  uploadArtifact: 'uploadArtifactDirectly',
  uploadTaskArtifact: 'uploadTaskArtifactDirectly',
} as const satisfies Record<UploadName, JsonName>;

/**
 * The typed client, from the route table. Errors: `ResponseError` when the server refused, `UnreachableError` when no
 * answer came, `UntrustedError` when it is another server for all that its certificate says, `InvalidResponseError` when it lacks what is needed.
 * It never asks the same server twice by itself. Of several it asks the next where one cannot be reached or stands by, if that can do nothing
 * twice.
 */
export class ClusterClient {
  readonly #servers: Servers;
  readonly #options: ClientOptions;
  readonly #dispatcher: Dispatcher;
  readonly #getter: HttpGetter;
  readonly #objects = new ObjectStore();
  readonly #direct = new DirectUploads(this.#objects);

  constructor(options: ClientOptions) {
    this.#servers = new Servers(options.server, options.onLeave);
    this.#options = options;
    this.#dispatcher =
      options.dispatcher ??
      new Agent({
        connections: 64,
        keepAliveTimeout: 4_000,
        connect: { timeout: 5_000, ...(options.ca !== undefined && { ca: options.ca }) },
      });
    this.#getter = new HttpGetter({ keepAlive: true, ca: options.ca });
  }

  /** The address that is asked at present. */
  get server(): string {
    return this.#servers.present.url;
  }

  /** Whether another server can be asked in the place of this one. */
  get hasOthers(): boolean {
    return this.#servers.count > 1;
  }

  /** The addresses that are asked where that one cannot be. */
  get others(): readonly string[] {
    return this.#servers.others.map(({ url }) => url);
  }

  /** The same for another server of the cluster. */
  at(server: string): ClusterClient {
    return new ClusterClient({ ...this.#options, server, onLeave: () => {} });
  }

  /**
   * Asks the next server from now on, should this one still be asked.
   * @param fault what came of it
   */
  leave(server: string, fault: unknown): void {
    if (isElsewhere(fault)) this.#servers.leave({ url: server }, fault);
  }

  /** Calls a JSON endpoint by its name in the route table. */
  async call<K extends JsonName>(name: K, input: CallInput<K> = {}): Promise<ReplyOf<Routes[K]>> {
    return replyOf(name, await this.callText(name, input));
  }

  /** Like `call`, but gives the text of the answer, numbers as written. */
  async callText<K extends JsonName>(name: K, input: CallInput<K> = {}): Promise<string> {
    const route = routes[name] as unknown as JsonRoute;
    const text = input.text ?? (input.body === undefined ? undefined : JSON.stringify(input.body));
    const headers: Record<string, string> =
      text === undefined ? {} : { 'content-type': input.contentType ?? 'application/json' };
    const answer = await this.#send({
      ...{ method: route.method, path: pathOf(route.path, input) },
      ...{ target: input, headers, body: text },
    });
    return this.#textOf(answer);
  }

  /** The entries of a list, each as the text that it is, numbers as written. */
  async callList<K extends JsonName>(name: K, input: CallInput<K> = {}): Promise<string[]> {
    return entriesOf(name, await this.callText(name, input));
  }

  /** What the server tells Prometheus. */
  async metrics(): Promise<string> {
    const answer = await this.#send({ method: routes.metrics.method, path: routes.metrics.path });
    return this.#textOf(answer);
  }

  /** Sends a file, past the server where that is possible, else as the part `file` of a multipart body; constant memory. */
  async upload<K extends UploadName>(name: K, input: UploadInput<K>): Promise<ArtifactUploaded> {
    const { params = {}, query = {}, signal } = input;
    // Their inputs are alike but for what the compiler cannot know of a name.
    const direct = DIRECT[name] as 'uploadTaskArtifactDirectly';
    const ask = (body: DirectUpload) => this.call(direct, { params, query, body, ...(signal && { signal }) });
    return (await this.#direct.send(input, ask)) ?? this.#uploadThrough(name, input);
  }

  async #uploadThrough<K extends UploadName>(name: K, input: UploadInput<K>): Promise<ArtifactUploaded> {
    const route = routes[name] as unknown as UploadRoute;
    const part = await FilePart.open(input);
    try {
      const body = Readable.from(part.body(input.onProgress));
      const answer = await this.#send({
        ...{ method: 'post', path: pathOf(route.path, input) },
        ...{ target: input, headers: part.headers, body },
      });
      return replyOf(name, await this.#textOf(answer));
    } catch (error) {
      // A file that cannot be read is no matter of the connection, which would be tried again.
      throw part.fault ?? error;
    } finally {
      await part.close();
    }
  }

  /** Opens the content of an artifact; the caller reads or destroys the stream. */
  download(id: string, input: { range?: string; signal?: AbortSignal } = {}): Promise<Downloading> {
    return this.#servers.ask(
      () => true,
      (address, firstMs) => this.#downloadFrom(address, id, input, firstMs),
    );
  }

  async #downloadFrom(
    server: Address,
    id: string,
    input: { range?: string; signal?: AbortSignal },
    firstMs: number | undefined,
  ): Promise<Downloading> {
    const url = new URL(`${server.url}/v1/artifacts/${encodeURIComponent(id)}`);
    const range = input.range ? { range: input.range } : {};
    const silenceMs = this.#options.timeoutMs ?? TIMEOUT_MS;
    const ask = (more: Record<string, string>) => {
      const headers = { ...this.headers(), ...range, ...more };
      return this.#withTransportErrors(() =>
        this.#getter.get(url, { headers, signal: input.signal, silenceMs, firstMs }),
      );
    };
    let body = await ask({ prefer: 'redirect' });
    if (body.statusCode === 307) {
      const elsewhere = await this.#objects.get(body, { headers: range, signal: input.signal, silenceMs });
      if (elsewhere) return elsewhere;
      body = await ask({});
    }
    const status = body.statusCode ?? 0;
    if (status >= 400)
      throw await this.#responseError(`GET ${url.pathname}`, status, body.headers, () => textOf(body));
    return { status, headers: body.headers, body };
  }

  /** The headers that a download of an artifact would have. */
  async artifactHeaders(
    id: string,
    target: Omit<RequestTarget, 'params'> = {},
  ): Promise<IncomingHttpHeaders> {
    const answer = await this.#send({
      method: 'head',
      path: `/v1/artifacts/${encodeURIComponent(id)}`,
      target,
    });
    await this.#withTransportErrors(() => answer.body.dump());
    return answer.headers;
  }

  /** Ends idle connections; requests under way fail. */
  async close(): Promise<void> {
    this.#getter.close();
    this.#objects.close();
    await this.#dispatcher.destroy();
  }

  #send(asked: Asked): Promise<Dispatcher.ResponseData> {
    // What is read while it is sent is gone; the caller knows how to begin anew.
    const isWhole = !(asked.body instanceof Readable);
    const isRead = asked.method === 'get' || asked.method === 'head';
    return this.#servers.ask(
      (fault) => isWhole && (isRead || wasNotAccepted(fault)),
      (server, firstMs) =>
        isRead || !this.hasOthers
          ? this.#sendTo(server, asked, firstMs)
          : this.#sendWhileThere(server, asked),
    );
  }

  /** What may have been done is told to be not known as soon as nobody is there who could answer. */
  #sendWhileThere(server: Address, { target, ...asked }: Asked): Promise<Dispatcher.ResponseData> {
    const health = { method: 'get', path: routes.healthz.path };
    const isThere = (ms: number) =>
      this.#sendTo(server, health, ms).then(
        (answer) => answer.body.dump().then(() => true),
        (fault) => fault instanceof ResponseError,
      );
    return whileThere(isThere, target?.signal, (signal) =>
      this.#sendTo(server, { ...asked, target: { ...target, signal } }),
    );
  }

  async #sendTo(
    server: Address,
    { method, path, target = {}, headers, body }: Asked,
    firstMs?: number,
  ): Promise<Dispatcher.ResponseData> {
    const timeout = target.timeoutMs ?? this.#options.timeoutMs ?? TIMEOUT_MS;
    const answer = await this.#withTransportErrors(() =>
      this.#dispatcher.request({
        origin: server.origin,
        path: server.basePath + path,
        method: method.toUpperCase() as Dispatcher.HttpMethod,
        headers: { ...this.headers(), ...headers },
        body: body ?? null,
        signal: target.signal ?? null,
        headersTimeout: Math.min(timeout, firstMs ?? timeout),
        bodyTimeout: timeout,
        // Never paused, since it is read whole in any case; see HttpGetter for what undici 7 makes of a pause.
        highWaterMark: Number.MAX_SAFE_INTEGER,
      }),
    );
    if (answer.statusCode < 400) return answer;
    const line = `${method.toUpperCase()} ${path.split('?')[0]}`;
    throw await this.#responseError(line, answer.statusCode, answer.headers, () =>
      readWhole(answer, this.#longest),
    );
  }

  /** The credential, for those who can send it in no header. */
  get token(): string | undefined {
    return this.#options.token;
  }

  /** What vouches for the server, for those who connect by themselves. */
  get ca(): string | undefined {
    return this.#options.ca;
  }

  /** The headers that every request carries. */
  headers(): Record<string, string> {
    const headers: Record<string, string> = {
      'x-cluster-version': PACKAGE_VERSION,
      'x-cluster-api': String(API_VERSION),
      'x-cluster-role': this.#options.role ?? 'client',
    };
    if (this.#options.token) headers.authorization = `Bearer ${this.#options.token}`;
    return headers;
  }

  /** @param line method and path of the request */
  async #responseError(
    line: string,
    status: number,
    headers: IncomingHttpHeaders,
    read: () => Promise<string>,
  ): Promise<ResponseError> {
    const body = await this.#withTransportErrors(read);
    const after = Number(headers['retry-after']);
    try {
      const said: unknown = JSON.parse(body);
      const refusal = new ResponseError(status, said, Number.isFinite(after) ? after : undefined);
      const isUnknown = refusal.code === 'unknown_path' || refusal.code === 'method_not_allowed';
      // Servers of other make may lack what the specification does not ask for.
      if (!isUnknown || (said as { code?: unknown } | null)?.code !== undefined) return refusal;
      return new ResponseError(status, { detail: `this server does not know ${line}`, code: refusal.code });
    } catch {
      return new ResponseError(status, {
        detail: `${this.server} answered ${status}: ${body.slice(0, 200)}`,
      });
    }
  }

  #textOf(answer: Dispatcher.ResponseData): Promise<string> {
    return this.#withTransportErrors(() => readWhole(answer, this.#longest));
  }

  get #longest(): number {
    return this.#options.longestAnswer ?? LONGEST_ANSWER;
  }

  async #withTransportErrors<T>(step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      const isTold = error instanceof ResponseError || error instanceof InvalidResponseError;
      if (isTold || (error as Error).name === 'AbortError') throw error;
      throw unreachable(this.server, error);
    }
  }
}
