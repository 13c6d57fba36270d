import { StartError } from '../../../machines/protocol/start-error.ts';
import type { RequestHead } from '../../transport/head.ts';
import { type Header, Refusal } from '../reply/refusal.ts';

interface Policy {
  corsOrigins: readonly string[];
  /** Names of the version headers, which pages of other origins may send and read. */
  versionHeaders: readonly string[];
  /** Whether only loopback names may address the server: it is open, and bound to loopback. */
  loopbackOnly: () => boolean;
  /** What the server itself speaks; a proxy in front of it may speak another. */
  scheme: 'http' | 'https';
}

const READABLE = ['ETag', 'Content-Range', 'Content-Disposition', 'Accept-Ranges', 'Retry-After', 'Allow'];
const SENDABLE = ['Authorization', 'Content-Type', 'Range', 'If-Range', 'If-None-Match'];

/** Which pages may talk to the server, and under which names it answers (docs/protocol.md#errors, 403). */
export class OriginPolicy {
  readonly #allowed: ReadonlySet<string>;
  readonly #policy: Policy;
  readonly #exposed: string;
  readonly #acceptable: string;

  /** @throws StartError `bad_option` for an origin that is none */
  constructor(policy: Policy) {
    this.#policy = policy;
    this.#allowed = new Set(policy.corsOrigins.map(configuredOrigin));
    this.#exposed = [...policy.versionHeaders, ...READABLE].join(', ');
    this.#acceptable = [...policy.versionHeaders, ...SENDABLE].join(', ');
  }

  /** Refuses a page of a foreign origin, and a name that only a rebound DNS entry would lead here under. */
  check(head: RequestHead): void {
    const { host, origin } = head.headers;
    if (this.#policy.loopbackOnly() && host !== undefined && !isLoopback(hostnameOf(host))) {
      throw new Refusal(
        'host_refused',
        `this server runs without credentials for its own machine only; address it as localhost, not '${host}'`,
      );
    }
    if (origin !== undefined && !this.#isOwn(head) && !this.#isAllowed(origin)) {
      throw new Refusal(
        'origin_refused',
        `pages of '${origin}' may not use this server; it can be started with --cors-origin ${origin}`,
      );
    }
  }

  /** What lets a page of an allowed origin read the answer. */
  headers(head: RequestHead): readonly Header[] {
    const { origin } = head.headers;
    if (origin === undefined || this.#isOwn(head) || !this.#isAllowed(origin)) return [];
    return [
      ['Access-Control-Allow-Origin', origin],
      ['Access-Control-Expose-Headers', this.#exposed],
    ];
  }

  /** The answer to a preflight; `allow` is what the path serves. */
  preflight(allow: string): readonly Header[] {
    return [
      ['Access-Control-Allow-Methods', allow],
      ['Access-Control-Allow-Headers', this.#acceptable],
      ['Access-Control-Max-Age', '600'],
    ];
  }

  #isOwn(head: RequestHead): boolean {
    const origin = originOf(head.headers.origin ?? '');
    return origin !== null && origin === originOf(`${this.#schemeOf(head)}://${hostOf(head) ?? ''}`);
  }

  #schemeOf({ headers }: RequestHead): string {
    const told = firstOf(headers['x-forwarded-proto'])?.toLowerCase();
    return told === 'https' || told === 'http' ? told : this.#policy.scheme;
  }

  #isAllowed(origin: string): boolean {
    if (this.#allowed.size === 0) return false;
    return this.#allowed.has('*') || this.#allowed.has(originOf(origin) ?? origin);
  }
}

/**
 * The host that a browser asked, which a proxy that asks in its place says with a header of its own. No page of another
 * origin can send that header: it would have to be allowed to first.
 */
export const hostOf = ({ headers }: RequestHead): string | undefined =>
  firstOf(headers['x-forwarded-host']) ?? headers.host;

/** Of a list that a chain of proxies has made, what the outermost said. */
const firstOf = (list: string | undefined): string | undefined => list?.split(',')[0]?.trim() || undefined;

/** The normal form of an origin (lower case, no default port); null when it is none, such as `null`. */
function originOf(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { origin } = new URL(text);
  return origin === 'null' ? null : origin;
}

function configuredOrigin(text: string): string {
  if (text === '*' || text === 'null') return text;
  const origin = originOf(text);
  if (origin === null || !/^https?:/.test(origin) || new URL(text).pathname !== '/') {
    throw new StartError(
      'bad_option',
      `--cors-origin '${text}' is no origin such as https://lab.example:8080`,
    );
  }
  return origin;
}

function hostnameOf(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();
}

/** Whether a host name or address can only mean the machine itself. */
export function isLoopback(hostname: string): boolean {
  const name = hostname.toLowerCase();
  return /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/.test(name);
}
