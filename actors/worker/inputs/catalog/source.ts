import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import path, { type PlatformPath, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { HttpGetter } from '../../../../gateway/client/http-get.ts';
import { InputError, WorkerError } from '../../errors.ts';
import { sleep, waitMs } from '../../link/backoff.ts';
import { isAbort } from '../../link/link-errors.ts';
import type { Persistence } from '../../link/persist.ts';

/** Where a catalog or one of its datasets lies. */
export type Location = { kind: 'file'; path: string } | { kind: 'http'; url: URL };

/** The server of a catalog, or of a dataset, gave nothing useful: another attempt may succeed. */
export class SourceUnavailableError extends WorkerError {}

/** How often something that is away is asked for, before the attempt fails. */
const TRIES = 5;
const MOST_REDIRECTIONS = 5;
/** Without a byte. */
const SILENCE_MS = 60_000;
/** Answers by which a server says that it may answer otherwise later. */
const PASSING = new Set([408, 425, 429]);
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** A path, or an http or file address. */
export function locate(text: string): Location {
  if (/^https?:\/\//i.test(text)) return { kind: 'http', url: new URL(text) };
  return { kind: 'file', path: /^file:\/\//i.test(text) ? fileURLToPath(text) : resolve(text) };
}

/** The address that an index names, which may count from the index's own. @throws InputError */
export function locateUrl(text: string, index: Location, what: string): Location {
  const base = index.kind === 'http' ? index.url : pathToFileURL(index.path);
  if (!URL.canParse(text, base.href)) throw new InputError(`${what}: '${text}' is not an address`);
  const url = new URL(text, base);
  if (url.protocol === 'file:') return { kind: 'file', path: fileURLToPath(url) };
  if (!/^https?:$/.test(url.protocol)) throw new InputError(`${what}: '${text}' is not an http address`);
  // Whoever may read the index may read what lies beside it.
  if (base.origin === url.origin && url.username === '') {
    url.username = base.username;
    url.password = base.password;
  }
  return { kind: 'http', url };
}

/** The path that an index names; relative ones count from where the index lies. @throws InputError */
export function locatePath(
  text: string,
  index: Location,
  what: string,
  rules: PlatformPath = path,
): Location {
  if (index.kind === 'file') return { kind: 'file', path: rules.resolve(rules.dirname(index.path), text) };
  if (rules.isAbsolute(text)) return { kind: 'file', path: text };
  throw new InputError(
    `${what}: the path '${text}' must be absolute, since the catalog is no file; or use url`,
  );
}

/** How messages call it: without the credentials that an address may hold. */
export const nameOf = (location: Location): string =>
  location.kind === 'file' ? location.path : location.url.origin + location.url.pathname;

/** Reads files and addresses. */
export class Sources {
  readonly #web = new HttpGetter();

  /**
   * Opens what lies at a location.
   * @param what how messages call it
   * @throws InputError when its server has no such thing, `WorkerError` when this worker does not get it (`SourceUnavailableError` when a server does not answer), others for this machine's faults
   */
  open(location: Location, what: string, signal: AbortSignal): Promise<Readable> {
    return location.kind === 'file' ? openFile(location.path, what) : this.#openUrl(location, what, signal);
  }

  /** Ends its connections. */
  close(): void {
    this.#web.close();
  }

  async #openUrl(
    location: Location & { kind: 'http' },
    what: string,
    signal: AbortSignal,
  ): Promise<Readable> {
    const body = await this.#follow(location.url, signal).catch((error: unknown) => {
      throw isAbort(error) ? error : away(location, what, error);
    });
    const status = body.statusCode ?? 0;
    if (status === 200) return body;
    // A refusal's text may be a whole page; nobody reads it.
    body.destroy();
    const refusal = `${what} (${nameOf(location)}): the server answered ${status}`;
    if (status >= 500 || PASSING.has(status)) throw new SourceUnavailableError(refusal);
    // Without the right to read it, this worker will not get it; another one may.
    if (status === 401 || status === 403) throw new WorkerError(refusal);
    throw new InputError(refusal);
  }

  /** The first answer that sends nobody on, or the one that does so once too often. */
  async #follow(start: URL, signal: AbortSignal): Promise<IncomingMessage> {
    let url = start;
    for (let hops = 0; ; hops++) {
      // Credentials go to no other server.
      const headers = headersFor(url.origin === start.origin ? start : url);
      const plain = new URL(url.pathname + url.search, url.origin);
      const answer: IncomingMessage = await this.#web.get(plain, { headers, signal, silenceMs: SILENCE_MS });
      const { statusCode: status = 0 } = answer;
      const next: string | undefined = REDIRECTS.has(status) ? answer.headers.location : undefined;
      if (next === undefined || hops === MOST_REDIRECTIONS || !URL.canParse(next, url.href)) return answer;
      const to: URL = new URL(next, url);
      if (!/^https?:$/.test(to.protocol)) return answer;
      answer.destroy();
      url = to;
    }
  }
}

function headersFor(url: URL): Record<string, string> {
  // Compressed on the way, the bytes would not be those that were hashed.
  const headers: Record<string, string> = { 'accept-encoding': 'identity' };
  if (url.username === '') return headers;
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { ...headers, authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}

async function openFile(path: string, what: string): Promise<Readable> {
  const found = await stat(path).catch((fault: NodeJS.ErrnoException) => {
    if (fault.code !== 'ENOENT' && fault.code !== 'ENOTDIR') throw fault;
    throw new WorkerError(`${what} does not exist on this worker: ${path}`);
  });
  if (!found.isFile()) throw new InputError(`${what} is not a file: ${path} (a folder has to be zipped)`);
  return createReadStream(path);
}

/** A connection that did not come about, or broke. */
export function away(location: Location, what: string, error: unknown): unknown {
  if (location.kind === 'file') return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const why = code ?? message;
  return new SourceUnavailableError(`${what} cannot be reached at ${nameOf(location)} (${why})`);
}

/** Repeats a step a few times while the server that it needs is away. */
export async function withRetries<T>(step: () => Promise<T>, persistence: Persistence): Promise<T> {
  const { backoff, log, signal } = persistence;
  for (let failures = 1; ; failures++) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof SourceUnavailableError) || failures === TRIES) throw error;
      log.warn({ why: error.message }, 'a catalog is away, will be asked again');
      await sleep(waitMs(backoff, failures), signal);
    }
  }
}
