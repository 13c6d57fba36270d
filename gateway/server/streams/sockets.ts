import type { TemplatedApp, WebSocket } from 'uWebSockets.js';
import type { Logger } from 'pino';
import type { Credentials } from '../../auth/credentials.ts';
import type { ClusterPort } from '../../ports.ts';
import type { Grant } from '../exchange.ts';
import { EventFeed, FEED_LIMITS, type FeedLimits, type FeedSocket, shared } from './feed.ts';
import { EventHub } from './hub.ts';
import type { InspectionFeed } from './inspection-feed.ts';

/** What an upgraded socket carries. */
export type StreamAim =
  | { of: 'events'; jobId: string | undefined; afterId: number }
  | { of: 'inspection'; actorId: string | undefined; feed: InspectionFeed };

interface SocketData {
  aim: StreamAim;
  grant: Grant | undefined;
  /** What an event stream is fed by, once it is open. */
  events?: EventFeed;
}

const feedOf = ({ aim, events }: SocketData): EventFeed | InspectionFeed | undefined =>
  aim.of === 'inspection' ? aim.feed : events;

/**
 * Seconds of silence after which a client that answers no ping is taken for gone. One that was told to go and
 * does not even read that is dropped by the library after 16 seconds.
 */
const IDLE_SECONDS = 60;
/** Clients have nothing to say on a stream. */
const MAX_MESSAGE_BYTES = 1024;
const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;

/** The open streams of a gateway. */
export class StreamSockets {
  readonly #hub: EventHub;
  readonly #port: ClusterPort;
  readonly #log: Logger;
  readonly #auth: Credentials;
  readonly #limits: FeedLimits;
  readonly #open = new Set<WebSocket<SocketData>>();
  #stopped = false;

  constructor(port: ClusterPort, auth: Credentials, log: Logger, limits: FeedLimits = FEED_LIMITS) {
    this.#hub = new EventHub(port.events);
    this.#port = port;
    this.#auth = auth;
    this.#log = log;
    this.#limits = shared(limits, () => this.#open.size);
  }

  /** Takes the WebSockets of an app; `upgrade` decides who becomes one. */
  serve(app: TemplatedApp, upgrade: NonNullable<Parameters<TemplatedApp['ws']>[1]['upgrade']>): void {
    app.ws<SocketData>('/*', {
      upgrade,
      // The feeds keep count themselves; a message dropped silently would be a missed event.
      maxBackpressure: 0,
      idleTimeout: IDLE_SECONDS,
      sendPingsAutomatically: true,
      maxPayloadLength: MAX_MESSAGE_BYTES,
      open: (ws) => this.#opened(ws),
      drain: (ws) => feedOf(ws.getUserData())?.drained(),
      close: (ws) => {
        this.#open.delete(ws);
        feedOf(ws.getUserData())?.closed();
      },
    });
  }

  /** Closes with 1008 the streams whose credential was withdrawn since they were opened. */
  recheck(): void {
    for (const ws of [...this.#open]) {
      if (!this.#isGranted(ws)) this.#withdraw(ws);
    }
  }

  /** Closes every stream with 1001. Idempotent. */
  stop(): void {
    this.#stopped = true;
    for (const ws of [...this.#open]) sayGoodbye(ws);
    this.#hub.stop();
  }

  #opened(ws: WebSocket<SocketData>): void {
    if (this.#stopped) {
      sayGoodbye(ws);
      return;
    }
    const data = ws.getUserData();
    // The file may have been read again between the check of the credential and the upgrade.
    if (!this.#isGranted(ws)) {
      this.#withdraw(ws);
      return;
    }
    this.#open.add(ws);
    const socket: FeedSocket = {
      send: (text) => void ws.send(text),
      cork: (work) => void ws.cork(work),
      buffered: () => ws.getBufferedAmount(),
      end: (code, reason) => {
        const what = data.aim.of === 'events' ? 'an event stream' : 'an inspection stream';
        this.#log.info({ ...aboutOf(data.aim), code }, `${what} is closed: ${reason}`);
        ws.end(code, reason);
      },
    };
    const { aim } = data;
    if (aim.of === 'inspection') {
      aim.feed.attach(socket);
      return;
    }
    data.events = this.#eventsOf(aim, socket);
    data.events.start();
  }

  #eventsOf(aim: StreamAim & { of: 'events' }, socket: FeedSocket): EventFeed {
    return new EventFeed({
      socket,
      hub: this.#hub,
      reads: this.#port.reads,
      jobId: aim.jobId,
      afterId: aim.afterId,
      limits: this.#limits,
      onFault: (err) => this.#log.warn({ err, ...aboutOf(aim) }, 'an event stream ended early'),
    });
  }

  #isGranted(ws: WebSocket<SocketData>): boolean {
    const { grant } = ws.getUserData();
    return grant !== undefined && this.#auth.stillGrants(grant.principal, grant.right);
  }

  #withdraw(ws: WebSocket<SocketData>): void {
    const { aim, grant } = ws.getUserData();
    this.#log.info({ ...aboutOf(aim), principal: grant?.principal.name }, 'a stream lost its credential');
    ws.end(POLICY_VIOLATION, 'the credential was withdrawn');
  }
}

const aboutOf = (aim: StreamAim) => (aim.of === 'events' ? { job_id: aim.jobId } : { actor_id: aim.actorId });

function sayGoodbye(ws: WebSocket<SocketData>): void {
  const again = ws.getUserData().aim.of === 'events' ? 'resume with after_id' : 'connect again';
  ws.end(GOING_AWAY, `the server is shutting down; ${again}`);
}
