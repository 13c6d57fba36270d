import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { ClusterError } from '../../machines/protocol/errors.ts';
import { MissingRightsError } from '../../machines/protocol/rights.ts';
import { statusOf } from '../contract/errors.ts';
import type { Route } from '../contract/route.ts';
import type { ClientAddresses } from './admission/client-address.ts';
import type { Exchange } from './request/exchange.ts';

/** Milliseconds in which one kind of refusal of one principal is one line. */
const QUIET_MS = 60_000;
/** Such kinds that are remembered. */
const MOST_KINDS = 1000;

/** Of these rights each use is a line; workers use theirs, and readers read, all the time. */
const AUDITED: ReadonlySet<Route['right']> = new Set(['submit', 'cancel', 'admin']);

/** Writes to the log what requests an operator asks about later, each with its id and its principal. */
export class RequestLog {
  readonly #log: Logger;
  readonly #clients: ClientAddresses;
  readonly #refused = new LRUCache<string, { until: number; more: number }>({ max: MOST_KINDS });
  /** A damaged store stays damaged until somebody restores it. */
  #damageLogged = false;

  constructor(log: Logger, clients: ClientAddresses) {
    this.#log = log;
    this.#clients = clients;
  }

  /** Of a request that a line is written of at its end: by then its connection may be gone. */
  began(exchange: Exchange): void {
    const { endpoint } = exchange;
    const isAudited = endpoint !== undefined && AUDITED.has(endpoint.route.right);
    if (this.#log.isLevelEnabled(isAudited ? 'info' : 'debug')) exchange.client = this.#clientOf(exchange);
  }

  /** Something was changed, or looked at that only an admin may see: it is durable by now. */
  acted(exchange: Exchange, about: Readonly<Record<string, string | number>>): void {
    const { endpoint, grant } = exchange;
    if (!endpoint || !grant || !AUDITED.has(endpoint.route.right)) return;
    if (!this.#log.isLevelEnabled('info')) return;
    const principal = grant.principal.name;
    const of = about.job_id ?? about.artifact_id ?? about.worker_id;
    this.#log.info(
      { ...this.#from(exchange), audit: endpoint.name, principal, ...about },
      `${endpoint.name}${of === undefined ? '' : ` ${of}`} by ${principal}`,
    );
  }

  /** A request got an error for an answer. The query is not logged: a stream's holds the token. */
  refused(exchange: Exchange, error: unknown, cause: unknown): void {
    const { method, path } = exchange.head;
    const about = { ...this.#from(exchange), method, path: path.slice(0, 200) };
    if (!(error instanceof ClusterError)) {
      this.#log.error({ ...about, err: error }, 'a request failed');
      return;
    }
    if (error.code === 'store_damaged') {
      if (!this.#damageLogged) this.#log.error({ ...about, err: cause }, error.message);
      this.#damageLogged = true;
      return;
    }
    const status = statusOf(error);
    const principal =
      error instanceof MissingRightsError ? error.principal : (exchange.grant?.principal.name ?? null);
    const more = this.#isRepeated(`${error.code} ${principal} ${exchange.endpoint?.name}`);
    if (more === null) return;
    const isLoud = status >= 500 || status === 401 || status === 403;
    const why = error.cause instanceof Error ? { why: error.cause.message } : {};
    this.#log[isLoud ? 'warn' : 'info'](
      { ...about, principal, status, code: error.code, ...why, ...(more > 0 && { more }) },
      `refused: ${error.message.slice(0, 500)}`,
    );
  }

  /** One that went as it should; the query is not logged, as above. */
  finished(exchange: Exchange, status: number, milliseconds: number): void {
    if (!this.#log.isLevelEnabled('debug')) return;
    const { method, path } = exchange.head;
    const ms = Math.round(milliseconds * 10) / 10;
    const principal = exchange.grant?.principal.name;
    this.#log.debug({ ...this.#from(exchange), method, path, status, ms, principal }, 'request');
  }

  #from(exchange: Exchange) {
    return { request_id: exchange.id, client: exchange.client ?? this.#clientOf(exchange) };
  }

  #clientOf({ head, incoming }: Exchange): string | undefined {
    return this.#clients.of(head, incoming.peer);
  }

  /** Null for one that is not written; else how many were not since the last line of its kind. */
  #isRepeated(kind: string): number | null {
    const now = performance.now();
    const known = this.#refused.get(kind);
    if (known && now < known.until) {
      known.more++;
      return null;
    }
    this.#refused.set(kind, { until: now + QUIET_MS, more: 0 });
    return known?.more ?? 0;
  }
}
