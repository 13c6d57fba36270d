import { setImmediate } from 'node:timers/promises';
import { ClusterError } from '../../machines/errors.ts';
import type { Credentials } from '../auth/credentials.ts';
import { statusOf } from '../contract/errors.ts';
import type { Incoming } from '../transport/port.ts';
import type { Admission, Admitted, Preflight, Refused } from './admission.ts';
import { answerDownload } from './answer-download.ts';
import { answerJson } from './answer-json.ts';
import { answerUpload } from './answer-upload.ts';
import { discardBody } from './body.ts';
import { ClientGone, Exchange, type ExchangeKeeper } from './exchange.ts';
import type { Handshake } from './handshake.ts';
import type { InFlight } from './in-flight.ts';
import { hostOf, type OriginPolicy } from './origin.ts';
import type { Page } from './page.ts';
import { type Header, inWords } from './refusal.ts';
import { replyError } from './reply.ts';
import type { Service } from './service.ts';
import { type StreamOpener, upgradeToStream } from './streams/upgrade.ts';

interface Parts {
  admission: Admission;
  handshake: Handshake;
  origins: OriginPolicy;
  service: Service;
  inFlight: InFlight;
  /** Opens the streams. */
  streams: StreamOpener;
  auth: Credentials;
  /** Whether the server is stopping, so that connections end with their answer. */
  closing: () => boolean;
}

const VARY: Header = ['Vary', 'Origin'];

/** Takes every request of the server from its head to its answer. */
export class Dispatcher implements ExchangeKeeper {
  /** What every answer carries, whoever asks. */
  readonly headers: readonly Header[];
  readonly #parts: Parts;
  /** Requests that wait for something to happen, such as leases. */
  readonly #waiting = new Set<Exchange>();

  /** Once is enough: a damaged store does not mend itself. */
  #toldOfDamage = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.headers = [...parts.handshake.headers, VARY];
  }

  handle(incoming: Incoming): void {
    const exchange = this.#open(incoming);
    this.#answer(exchange).catch((fault: unknown) => this.#fail(exchange, fault));
  }

  /** Refuses the requests that still wait on a credential that was withdrawn since they came. */
  recheck(): void {
    for (const exchange of [...this.#waiting]) {
      const { grant } = exchange;
      if (!grant || this.#parts.auth.stillGrants(grant.principal, grant.right)) continue;
      const detail = 'the credential was withdrawn while the request waited; check the token';
      replyError(exchange, new ClusterError('unauthenticated', detail));
      exchange.stopWaiting();
    }
  }

  #open(incoming: Incoming): Exchange {
    const { origins, inFlight } = this.#parts;
    inFlight.enter();
    const cors = origins.headers(incoming.head);
    return new Exchange(incoming, cors.length > 0 ? [...this.headers, ...cors] : this.headers, this);
  }

  isLast({ head }: Exchange): boolean {
    // Behind a request whose end is not clear, nothing that follows is either.
    return head.ambiguity !== undefined || this.#parts.closing();
  }

  waits(exchange: Exchange): void {
    this.#waiting.add(exchange);
  }

  /** Up to its first await this runs before the body's first byte, as those who read the body need. */
  async #answer(exchange: Exchange): Promise<void> {
    const verdict = this.#parts.admission.judge(exchange.head);
    if ('error' in verdict) return this.#refuse(exchange, verdict);
    if ('allow' in verdict) return this.#allow(exchange, verdict);
    exchange.grant = { principal: verdict.principal, right: verdict.endpoint.route.right };
    return this.#serve(exchange, verdict);
  }

  async #refuse(exchange: Exchange, { error, countUpTo }: Refused): Promise<void> {
    if (countUpTo !== null) await discardBody(exchange, countUpTo);
    // Unanswered until all that came with it is parsed: the library hangs up on a request behind an unanswered one.
    if (exchange.head.ambiguity !== undefined) await setImmediate();
    throw error;
  }

  #allow(exchange: Exchange, { allow }: Preflight): void {
    const { origins } = this.#parts;
    const asked = exchange.head.headers['access-control-request-method'] !== undefined;
    const cors = asked && origins.headers(exchange.head).length > 0 ? origins.preflight(allow) : [];
    exchange.answer(204, [['Allow', allow], ...cors]);
  }

  async #serve(exchange: Exchange, admitted: Admitted): Promise<void> {
    const { service } = this.#parts;
    switch (admitted.endpoint.route.kind) {
      case 'json':
        return answerJson(exchange, admitted, service);
      case 'upload':
        return answerUpload(exchange, admitted, service);
      case 'download':
        return answerDownload(exchange, admitted, service);
      case 'page':
        return this.#show(exchange, await service.dashboard());
      case 'stream':
        return upgradeToStream(exchange, admitted, service.clusterPort, this.#parts.streams);
    }
  }

  #show(exchange: Exchange, page: Page): void {
    exchange.answer(200, page.headers(hostOf(exchange.head)), page.html);
  }

  #fail(exchange: Exchange, cause: unknown): void {
    if (cause instanceof ClientGone) return;
    const fault = inWords(cause);
    const { log } = this.#parts.service;
    const { method, path } = exchange.head;
    if (!(fault instanceof ClusterError)) log.error({ err: fault, method, path }, 'a request failed');
    else if (fault.code === 'store_damaged' && !this.#toldOfDamage) {
      this.#toldOfDamage = true;
      log.error({ err: cause, method, path }, fault.message);
    } else if (statusOf(fault) >= 500) log.warn({ method, path, code: fault.code }, fault.message);
    replyError(exchange, fault);
  }

  /** The query is not logged: a stream's holds the token. */
  over(exchange: Exchange, status: number): void {
    this.#parts.inFlight.leave();
    this.#waiting.delete(exchange);
    const { log } = this.#parts.service;
    if (!log.isLevelEnabled('debug')) return;
    const { method, path } = exchange.head;
    const ms = Math.round((performance.now() - exchange.startedAt) * 10) / 10;
    log.debug({ method, path, status, ms, principal: exchange.grant?.principal.name }, 'request');
  }
}
