import type { Content } from '../../../../machines/results/spec-diff.ts';
import { ResponseError, UnreachableError } from '../../../client/errors.ts';
import { filenameOf } from '../../../client/filename.ts';

/** Milliseconds until a request without an answer is given up. */
const TIMEOUT_MS = 30_000;

export type Query = Record<string, string | number | undefined>;

/** What is sent: a document, numbers as written. */
export interface Body {
  text: string;
  type: 'application/json' | 'application/yaml';
}

export interface ApiOptions {
  /** The page's own address; paths are relative to it, so a proxy may put the server under any prefix. */
  base: string;
  /** The present credential; empty: none. */
  token: () => string;
  /** Told what every answer says about its server: its version, and its clock in seconds since the epoch. */
  onServer: (version: string | null, now: number) => void;
  /** Told of every request whether the server answered it with what was asked for, or not at all. */
  onReach: (reached: boolean) => void;
}

/** The REST API, as everybody uses it. Throws `ResponseError` or `UnreachableError`, or what an abort throws. */
export class Api {
  readonly #options: ApiOptions;

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
    return this.#whole(this.url(path, query), 'GET', signal, (answer) => answer.json() as Promise<T>);
  }

  /** The answer as the server wrote it, for documents whose numbers must stay as they are. */
  text(path: string, signal?: AbortSignal): Promise<string> {
    return this.#whole(this.url(path), 'GET', signal, (answer) => answer.text());
  }

  post<T>(path: string, body?: Body, signal?: AbortSignal): Promise<T> {
    const read = (answer: Response) => answer.json() as Promise<T>;
    return this.#whole(this.url(path), 'POST', signal, read, body);
  }

  /** What tells the content of a file, and what it is called; null where there is none. */
  async contentOf(path: string, signal?: AbortSignal): Promise<Content | null> {
    const answer = await this.#send(this.url(path), {
      method: 'HEAD',
      ...(signal ? { signal } : {}),
    }).catch((error: unknown) => {
      if (error instanceof ResponseError) return null;
      throw error;
    });
    const sha256 = answer?.headers.get('ETag')?.replaceAll('"', '');
    const filename = filenameOf(answer?.headers.get('Content-Disposition') ?? null);
    return sha256 ? { sha256, filename } : null;
  }

  /** An answer whose body the caller reads, for as long as that takes. */
  open(path: string, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
    return this.#send(this.url(path), { headers, ...(signal ? { signal } : {}) });
  }

  url(path: string, query: Query = {}): URL {
    const url = new URL(path, this.#options.base);
    for (const [key, value] of Object.entries(query)) {
      if (value !== undefined && value !== '') url.searchParams.set(key, String(value));
    }
    return url;
  }

  async #whole<T>(
    url: URL,
    method: string,
    signal: AbortSignal | undefined,
    read: (answer: Response) => Promise<T>,
    body?: Body,
  ): Promise<T> {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await this.#send(url, {
      method,
      ...(body && { body: body.text, headers: { 'Content-Type': body.type } }),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    const value = await this.#reaching(() => read(answer), signal);
    this.#options.onReach(true);
    return value;
  }

  async #send(url: URL, init: RequestInit): Promise<Response> {
    const token = this.#options.token();
    const headers: Record<string, string> = {
      'X-CLUSTER-Version': PACKAGE_VERSION,
      'X-CLUSTER-Api': String(API_VERSION),
      'X-CLUSTER-Role': 'client',
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(init.headers as Record<string, string> | undefined),
    };
    const answer = await this.#reaching(
      () => fetch(url, { ...init, headers, cache: 'no-store' }),
      init.signal,
    );
    const date = Date.parse(answer.headers.get('Date') ?? '');
    this.#options.onServer(answer.headers.get('X-CLUSTER-Version'), date / 1000);
    if (answer.ok) return answer;
    return this.#reaching(async () => {
      throw await refusal(answer);
    }, init.signal);
  }

  async #reaching<T>(step: () => Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
    try {
      return await step();
    } catch (error) {
      if (error instanceof ResponseError) throw error;
      if (signal?.aborted && signal.reason?.name !== 'TimeoutError') throw error;
      this.#options.onReach(false);
      throw new UnreachableError('the server cannot be reached', { cause: error });
    }
  }
}

/** What stands between, such as a proxy, says so in these when the server does not answer it. */
const BETWEEN = new Set([502, 503, 504]);

async function refusal(answer: Response): Promise<Error> {
  const body = (await answer.json().catch(() => ({}))) as { code?: string };
  if (body.code === undefined && BETWEEN.has(answer.status)) {
    return new Error(`what stands before the server answered ${answer.status}`);
  }
  return new ResponseError(answer.status, body);
}
