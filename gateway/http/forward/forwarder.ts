import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { Leadership } from '../../leadership.ts';
import type { TlsFiles } from '../../transport/tls.ts';
import type { Header } from '../reply/refusal.ts';
import { sendStream } from '../reply/send-stream.ts';
import { hasBody } from '../request/body.ts';
import { ClientGoneError, type Exchange } from '../request/exchange.ts';
import { FORWARDED, headersOf } from './headers.ts';
import { KeptBody } from './kept-body.ts';
import { type Asked, LeaderLink } from './leader-link.ts';

/** Milliseconds for which a request waits, all in all, while nobody leads. */
const PATIENCE_MS = 5_000;
/** Milliseconds until a leader that could not be reached is tried again, should it still be the one. */
const AGAIN_MS = 500;

type Leader = NonNullable<Leadership['leader']>;

/** Why no answer is waited for any longer. */
type Ended = 'superseded' | 'stopping';

interface ForwarderOptions {
  leadership: Leadership;
  tls: TlsFiles | undefined;
  /** What every answer of this server carries by itself. */
  headers: readonly Header[];
  log: Logger;
}

/**
 * Sends requests on to the server that leads, and its answers back. A request is sent once more only where it reads, or has
 * surely done nothing: the leader was not reached, or said that it accepted nothing. Where it is not known what became of
 * one, the connection of the client is broken off, as that to the leader was.
 */
export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #link: LeaderLink;
  readonly #own: ReadonlySet<string>;
  readonly #unwatch: () => void;
  /** What waits for an answer: whose, and how that is ended. */
  readonly #waiting = new Set<{ leader: Leader; mayWait: boolean; end(why: Ended): void }>();
  #isStopped = false;
  /** Until somebody else leads, or it is time to try again; one for all that wait for it. */
  #change: { until: Promise<void>; come(): void } | null = null;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#link = new LeaderLink(options.tls);
    this.#own = new Set(options.headers.map(([name]) => name.toLowerCase()));
    this.#unwatch = options.leadership.onChange(() => this.#changed());
  }

  /**
   * Must be called before the first await for a request with a body.
   * @throws ClusterError `standing_by` where nobody who leads was reached, `draining`; ClientGoneError
   */
  async forward(exchange: Exchange): Promise<void> {
    if (exchange.head.headers[FORWARDED] !== undefined) throw this.#options.leadership.refusal;
    // That of a question says nothing, and may be past by the time at which it turns out that only another server knows the answer.
    const body = !isRead(exchange) && hasBody(exchange.head) ? new KeptBody(exchange) : null;
    try {
      await this.#toLeader(exchange, body);
    } finally {
      body?.discard();
    }
  }

  renewTls(): void {
    this.#link.renewTls();
  }

  /** What may be long in being answered, and loses nothing when nobody waits for it, is ended. Idempotent. */
  stop(): void {
    this.#isStopped = true;
    this.#unwatch();
    this.#change?.come();
    for (const waiting of this.#waiting) if (waiting.mayWait) waiting.end('stopping');
  }

  close(): void {
    this.#link.close();
  }

  async #toLeader(exchange: Exchange, body: KeptBody | null): Promise<void> {
    const patience = { left: PATIENCE_MS };
    for (let failed: Leader | null = null; ; ) {
      const leader = await this.#find(failed, patience, exchange);
      const asked = await this.#ask(leader, exchange, body);
      if (exchange.aborted) throw new ClientGoneError();
      if (asked.answer !== null) {
        const again = accepts(asked) ? false : body === null || body.isWhole;
        if (!again) return this.#passOn(exchange, asked.answer, asked.whole);
      } else if (asked.wasSent && !isRead(exchange)) return this.#breakOff(exchange, leader, asked.fault);
      failed = leader;
    }
  }

  /** @param failed who was asked just now, without success */
  async #find(failed: Leader | null, patience: { left: number }, exchange: Exchange): Promise<Leader> {
    const { leadership } = this.#options;
    const since = performance.now();
    for (;;) {
      if (exchange.aborted) throw new ClientGoneError();
      const { leader } = leadership;
      const waited = performance.now() - since;
      if (leader !== null && (leader !== failed || waited >= AGAIN_MS)) {
        patience.left -= waited;
        return leader;
      }
      if (this.#isStopped || waited >= patience.left) throw leadership.refusal;
      await this.#nextChange();
    }
  }

  async #ask(leader: Leader, exchange: Exchange, body: KeptBody | null): Promise<Asked> {
    const end = new AbortController();
    let why: Ended | null = null;
    const route = exchange.endpoint?.route;
    const waiting = {
      leader,
      mayWait: route?.waits === true,
      end: (reason: Ended) => {
        why = reason;
        end.abort();
      },
    };
    exchange.onAbort(() => end.abort());
    this.#waiting.add(waiting);
    const asked = await this.#link.ask(leader.url, exchange, body, end.signal);
    this.#waiting.delete(waiting);
    if (asked.answer === null && (why as Ended | null) === 'stopping')
      throw new ClusterError('draining', 'this server is shutting down; ask another one');
    return asked;
  }

  async #passOn(exchange: Exchange, answer: IncomingMessage, whole: Buffer | null): Promise<void> {
    const status = answer.statusCode ?? 502;
    const headers = headersOf(answer, this.#own);
    if (whole !== null) return void exchange.answer(status, headers, whole);
    const length = answer.headers['content-length'];
    if (exchange.head.method === 'HEAD' || status === 204 || status === 304) {
      answer.resume();
      if (length !== undefined) headers.push(['Content-Length', length]);
      return void exchange.answer(status, headers);
    }
    await sendStream(exchange, {
      ...{ status, headers, stream: answer },
      length: length === undefined ? null : Number(length),
    });
  }

  /** Whether it happened is not known, so that nothing is said of it. */
  #breakOff(exchange: Exchange, { url }: Leader, fault: Error): void {
    this.#options.log.warn(
      { request_id: exchange.id, leader: url, err: fault },
      'the server that leads was lost while it had a request; its client is told nothing',
    );
    exchange.incoming.close();
  }

  #changed(): void {
    this.#change?.come();
    // An earlier one that is stopped, or cut off, would keep them waiting.
    const { leader } = this.#options.leadership;
    for (const waiting of this.#waiting) if (waiting.leader !== leader) waiting.end('superseded');
  }

  #nextChange(): Promise<void> {
    if (this.#change === null) {
      let come = () => {};
      const until = new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, AGAIN_MS);
        come = () => {
          clearTimeout(timer);
          resolve();
        };
      }).finally(() => {
        this.#change = null;
      });
      this.#change = { until, come };
    }
    return this.#change.until;
  }
}

const isRead = ({ head: { method } }: Exchange): boolean => method === 'GET' || method === 'HEAD';

/** False where the other one said that it accepted nothing. */
function accepts({ answer, whole }: Extract<Asked, { answer: IncomingMessage }>): boolean {
  if (answer.statusCode !== 503 || whole === null) return true;
  return !/"code":"(standing_by|draining)"/.test(whole.toString());
}
