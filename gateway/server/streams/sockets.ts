import type { Logger } from 'pino';
import type { Credentials } from '../../auth/credentials.ts';
import type { ClusterPort } from '../../ports.ts';
import type { StreamHandlers, StreamSocket } from '../../transport/port.ts';
import type { Grant } from '../exchange.ts';
import { EventFeed, FEED_LIMITS, type FeedLimits, shared } from './feed.ts';
import { EventHub } from './hub.ts';
import type { InspectionFeed } from './inspection-feed.ts';

/** What an upgraded socket carries. */
export type StreamAim =
  | { of: 'events'; jobId: string | undefined; afterId: number }
  | { of: 'inspection'; actorId: string | undefined; feed: InspectionFeed };

const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;

/** The open streams of a gateway. */
export class StreamSockets {
  readonly #hub: EventHub;
  readonly #port: ClusterPort;
  readonly #log: Logger;
  readonly #auth: Credentials;
  readonly #limits: FeedLimits;
  readonly #open = new Set<OpenStream>();
  #stopped = false;

  constructor(port: ClusterPort, auth: Credentials, log: Logger, limits: FeedLimits = FEED_LIMITS) {
    this.#hub = new EventHub(port.events);
    this.#port = port;
    this.#auth = auth;
    this.#log = log;
    this.#limits = shared(limits, () => this.#open.size);
  }

  /** What a socket does that carries a stream. */
  handlers(aim: StreamAim, grant: Grant | undefined): StreamHandlers {
    let feed: EventFeed | InspectionFeed | undefined = aim.of === 'inspection' ? aim.feed : undefined;
    let stream: OpenStream | undefined;
    return {
      open: (socket) => {
        stream = { aim, grant, socket };
        if (this.#stopped) {
          sayGoodbye(stream);
          return;
        }
        // The file may have been read again between the check of the credential and the upgrade.
        if (!this.#isGranted(stream)) {
          this.#withdraw(stream);
          return;
        }
        this.#open.add(stream);
        feed = this.#feed(aim, this.#told(aim, socket));
      },
      drained: () => feed?.drained(),
      closed: () => {
        if (stream) this.#open.delete(stream);
        feed?.closed();
      },
    };
  }

  /** Closes with 1008 the streams whose credential was withdrawn since they were opened. */
  recheck(): void {
    for (const stream of [...this.#open]) {
      if (!this.#isGranted(stream)) this.#withdraw(stream);
    }
  }

  /** Closes every stream with 1001. Idempotent. */
  stop(): void {
    this.#stopped = true;
    for (const stream of [...this.#open]) sayGoodbye(stream);
    this.#hub.stop();
  }

  /** The socket of a stream, whose end is logged when the server has a reason for it. */
  #told(aim: StreamAim, socket: StreamSocket): StreamSocket {
    const what = aim.of === 'events' ? 'an event stream' : 'an inspection stream';
    return {
      ...socket,
      end: (code, reason) => {
        this.#log.info({ ...aboutOf(aim), code }, `${what} is closed: ${reason}`);
        socket.end(code, reason);
      },
    };
  }

  #feed(aim: StreamAim, socket: StreamSocket): EventFeed | InspectionFeed {
    if (aim.of === 'inspection') {
      aim.feed.attach(socket);
      return aim.feed;
    }
    const feed = new EventFeed({
      socket,
      hub: this.#hub,
      reads: this.#port.reads,
      jobId: aim.jobId,
      afterId: aim.afterId,
      limits: this.#limits,
      onFault: (err) => this.#log.warn({ err, ...aboutOf(aim) }, 'an event stream ended early'),
    });
    feed.start();
    return feed;
  }

  #isGranted({ grant }: OpenStream): boolean {
    return grant !== undefined && this.#auth.stillGrants(grant.principal, grant.right);
  }

  #withdraw({ aim, grant, socket }: OpenStream): void {
    this.#log.info({ ...aboutOf(aim), principal: grant?.principal.name }, 'a stream lost its credential');
    socket.end(POLICY_VIOLATION, 'the credential was withdrawn');
  }
}

interface OpenStream {
  readonly aim: StreamAim;
  readonly grant: Grant | undefined;
  readonly socket: StreamSocket;
}

const aboutOf = (aim: StreamAim) => (aim.of === 'events' ? { job_id: aim.jobId } : { actor_id: aim.actorId });

function sayGoodbye({ aim, socket }: OpenStream): void {
  const again = aim.of === 'events' ? 'resume with after_id' : 'connect again';
  socket.end(GOING_AWAY, `the server is shutting down; ${again}`);
}
