import type { Logger } from 'pino';
import type { Credentials } from '../auth/credentials.ts';
import type { Backend } from '../backend.ts';
import type { Grant } from '../http/request/exchange.ts';
import { StreamMetrics } from '../metrics/stream-metrics.ts';
import type { StreamHandlers, StreamSocket } from '../transport/transport.ts';
import { EventFeed, FEED_LIMITS, type FeedLimits, shared } from './feed.ts';
import { EventHub } from './hub.ts';
import type { InspectionFeed } from './inspection-feed.ts';

/** What an upgraded socket carries. */
export type StreamTopic =
  | { of: 'events'; jobId: string | undefined; afterId: number }
  | { of: 'inspection'; actorId: string | undefined; feed: InspectionFeed };

const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;

/** The open streams of a gateway. */
export class StreamSockets {
  #hub: EventHub | undefined;
  readonly #backend: Backend;
  readonly #log: Logger;
  readonly #auth: Credentials;
  readonly #limits: FeedLimits;
  readonly #metrics: StreamMetrics;
  readonly #open = new Set<OpenStream>();
  #stopped = false;

  constructor(backend: Backend, auth: Credentials, log: Logger, limits: FeedLimits = FEED_LIMITS) {
    this.#backend = backend;
    this.#auth = auth;
    this.#log = log;
    this.#limits = shared(limits, () => this.#open.size);
    this.#metrics = new StreamMetrics(
      backend.metrics,
      (topic) => [...this.#open].filter((stream) => stream.topic.of === topic).length,
    );
  }

  /** What a socket does that carries a stream. */
  handlers(topic: StreamTopic, grant: Grant | undefined): StreamHandlers {
    let feed: EventFeed | InspectionFeed | undefined = topic.of === 'inspection' ? topic.feed : undefined;
    let stream: OpenStream | undefined;
    return {
      open: (socket) => {
        stream = { topic, grant, socket };
        if (this.#stopped) {
          closeGoingAway(stream);
          return;
        }
        // The auth file may have been reloaded between the check of the credential and the upgrade.
        const why = this.#lost(stream);
        if (why !== null) {
          this.#revoke(stream, why);
          return;
        }
        this.#open.add(stream);
        feed = this.#feed(topic, this.#watched(topic, socket));
      },
      drained: () => feed?.drained(),
      closed: () => {
        if (stream) this.#open.delete(stream);
        feed?.closed();
        if (topic.of === 'events') this.#letGo();
      },
    };
  }

  /** Closes with 1008 the streams whose credential has become void since they were opened. */
  recheck(): void {
    for (const stream of [...this.#open]) {
      const why = this.#lost(stream);
      if (why !== null) this.#revoke(stream, why);
    }
  }

  /** Closes every stream with 1001. Idempotent. */
  stop(): void {
    this.#stopped = true;
    for (const stream of [...this.#open]) {
      this.#metrics.ended(stream.topic.of, GOING_AWAY);
      closeGoingAway(stream);
    }
    this.#hub?.stop();
  }

  /** Events that nobody follows need not be known here: of those of another server, the store is asked time and again. */
  #letGo(): void {
    for (const { topic } of this.#open) if (topic.of === 'events') return;
    this.#hub?.stop();
    this.#hub = undefined;
  }

  /** The socket of a stream, which is counted, and whose end is logged when the server has a reason for it. */
  #watched(topic: StreamTopic, socket: StreamSocket): StreamSocket {
    const what = topic.of === 'events' ? 'an event stream' : 'an inspection stream';
    return {
      ...socket,
      send: (text) => {
        this.#metrics.sent(topic.of);
        socket.send(text);
      },
      end: (code, reason) => {
        this.#metrics.ended(topic.of, code);
        this.#log.info({ ...logFieldsOf(topic), code }, `${what} is closed: ${reason}`);
        socket.end(code, reason);
      },
    };
  }

  #feed(topic: StreamTopic, socket: StreamSocket): EventFeed | InspectionFeed {
    if (topic.of === 'inspection') {
      topic.feed.attach(socket, (frames) => this.#metrics.dropped('inspection', frames));
      return topic.feed;
    }
    // Made with a stream: before, there may be no events yet, as where another server leads.
    this.#hub ??= new EventHub(this.#backend.events);
    const feed = new EventFeed({
      socket,
      hub: this.#hub,
      reads: this.#backend.reads,
      jobId: topic.jobId,
      afterId: topic.afterId,
      limits: this.#limits,
      onDropped: (frames) => this.#metrics.dropped('events', frames),
      onFault: (err) => this.#log.warn({ err, ...logFieldsOf(topic) }, 'an event stream ended early'),
    });
    feed.start();
    return feed;
  }

  #lost({ grant }: OpenStream): string | null {
    return grant === undefined ? 'was revoked' : this.#auth.lost(grant.principal, grant.right);
  }

  #revoke({ topic, grant, socket }: OpenStream, why: string): void {
    this.#log.info(
      { ...logFieldsOf(topic), principal: grant?.principal.name },
      `a stream is closed: its credential ${why}`,
    );
    this.#metrics.ended(topic.of, POLICY_VIOLATION);
    socket.end(POLICY_VIOLATION, `the credential ${why}`);
  }
}

interface OpenStream {
  readonly topic: StreamTopic;
  readonly grant: Grant | undefined;
  readonly socket: StreamSocket;
}

const logFieldsOf = (topic: StreamTopic) =>
  topic.of === 'events' ? { job_id: topic.jobId } : { actor_id: topic.actorId };

function closeGoingAway({ topic, socket }: OpenStream): void {
  const again = topic.of === 'events' ? 'resume with after_id' : 'connect again';
  socket.end(GOING_AWAY, `the server is shutting down; ${again}`);
}
