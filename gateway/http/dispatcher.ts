import { setImmediate } from 'node:timers/promises';
import { ClusterError } from '../../machines/protocol/errors.ts';
import type { Credentials } from '../auth/credentials.ts';
import { LeaderOnly, type Leadership } from '../leadership.ts';
import type { HttpMetrics } from '../metrics/http-metrics.ts';
import { type StreamOpener, upgradeToStream } from '../streams/upgrade.ts';
import type { Incoming } from '../transport/transport.ts';
import type { Page } from '../ui/page-response.ts';
import type { AdmissionControl, Admitted, Preflight, Refused } from './admission/admission.ts';
import type { Handshake } from './admission/handshake.ts';
import { hostOf, type OriginPolicy } from './admission/origin.ts';
import type { Forwarder } from './forward/forwarder.ts';
import type { InFlight } from './in-flight.ts';
import { answerDownload } from './reply/answer-download.ts';
import { answerFile } from './reply/answer-file.ts';
import { answerJson } from './reply/answer-json.ts';
import { answerUpload } from './reply/answer-upload.ts';
import { type Header, toClusterError } from './reply/refusal.ts';
import { replyError } from './reply/reply.ts';
import { discardBody } from './request/body.ts';
import { ClientGoneError, Exchange, type ExchangeObserver } from './request/exchange.ts';
import type { Service } from './service.ts';

interface Parts {
  admission: AdmissionControl;
  /** Whether this server leads, and who does otherwise. */
  leadership: Leadership;
  forwarder: Forwarder;
  handshake: Handshake;
  origins: OriginPolicy;
  service: Service;
  inFlight: InFlight;
  metrics: HttpMetrics;
  /** Opens the streams. */
  streams: StreamOpener;
  auth: Credentials;
  /** Whether the server is stopping, so that connections end with their answer. */
  closing: () => boolean;
}

const VARY: Header = ['Vary', 'Origin'];

/** Whether a request changes nothing. */
const reads = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** Takes every request of the server from its head to its answer. */
export class Dispatcher implements ExchangeObserver {
  /** What every answer carries, whoever asks. */
  readonly headers: readonly Header[];
  readonly #parts: Parts;
  /** Requests that wait for something to happen, such as leases. */
  readonly #waiting = new Set<Exchange>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.headers = [...parts.handshake.headers, VARY];
  }

  /** To the server that leads. */
  get forwarder(): Forwarder {
    return this.#parts.forwarder;
  }

  handle(incoming: Incoming): void {
    const exchange = this.#open(incoming);
    this.#answer(exchange).catch((error: unknown) => this.#answerError(exchange, error));
  }

  /** Refuses the requests that still wait on a credential that has become void since they came. */
  recheck(): void {
    for (const exchange of [...this.#waiting]) {
      const { grant } = exchange;
      const why = grant ? this.#parts.auth.lost(grant.principal, grant.right) : null;
      if (why === null) continue;
      const detail = `the credential ${why} while the request waited; check the token`;
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

  waiting(exchange: Exchange): void {
    this.#waiting.add(exchange);
  }

  /** Up to its first await this runs before the body's first byte, as those who read the body need. */
  async #answer(exchange: Exchange): Promise<void> {
    const admission = this.#parts.admission.admit(exchange.head);
    if ('endpoint' in admission) exchange.endpoint = admission.endpoint;
    this.#parts.service.requests.began(exchange);
    if ('error' in admission) return this.#refuse(exchange, admission);
    if ('allow' in admission) return this.#allow(exchange, admission);
    exchange.grant = { principal: admission.principal, right: admission.endpoint.route.right };
    if (this.#parts.leadership.leads) return this.#serve(exchange, admission);
    return this.#serveBeside(exchange, admission);
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

  /** Another server leads: it is asked for what changes something, and for what it alone knows. */
  async #serveBeside(exchange: Exchange, admitted: Admitted): Promise<void> {
    const { forwarder, leadership } = this.#parts;
    if (!reads(exchange.head.method)) return forwarder.forward(exchange);
    try {
      await this.#serve(exchange, admitted);
    } catch (fault) {
      if (!(fault instanceof LeaderOnly)) throw fault;
      // What its actors do is told by each server itself.
      if (admitted.endpoint.route.kind === 'stream') throw leadership.refusal;
      await forwarder.forward(exchange);
    }
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
      case 'text': {
        const { type, text } = await admitted.endpoint.route.run(
          service.backend,
          exchange.head.headers.accept,
        );
        exchange.answer(
          200,
          [
            ['Content-Type', type],
            ['Cache-Control', 'no-store'],
          ],
          text,
        );
        return;
      }
      case 'file':
        return answerFile(exchange, admitted);
      case 'page':
        return this.#sendPage(exchange, await service.dashboard());
      case 'stream':
        await upgradeToStream(exchange, admitted, service.backend, this.#parts.streams);
        service.requests.acted(exchange, admitted.params);
        return;
    }
  }

  #sendPage(exchange: Exchange, page: Page): void {
    exchange.answer(200, page.headers(hostOf(exchange.head)), page.html);
  }

  #answerError(exchange: Exchange, cause: unknown): void {
    if (cause instanceof ClientGoneError) return;
    const fault = toClusterError(cause);
    this.#parts.service.requests.refused(exchange, fault, cause);
    replyError(exchange, fault);
  }

  finished(exchange: Exchange, status: number): void {
    this.#parts.inFlight.leave();
    this.#waiting.delete(exchange);
    const milliseconds = performance.now() - exchange.startedAt;
    this.#parts.metrics.finished(exchange.endpoint?.route ?? null, status, milliseconds / 1000);
    this.#parts.service.requests.finished(exchange, status, milliseconds);
  }
}
