import type { TemplatedApp, WebSocket } from 'uWebSockets.js';
import type { Logger } from 'pino';
import type { ClusterPort } from '../../ports.ts';
import { EventFeed, FEED_LIMITS, type FeedLimits, type FeedSocket, shared } from './feed.ts';
import { EventHub } from './hub.ts';
import type { InspectionFeed } from './inspection-feed.ts';

/** What an upgraded socket carries. */
export type StreamAim =
  | { of: 'events'; jobId: string | undefined; afterId: number }
  | { of: 'inspection'; actorId: string | undefined; feed: InspectionFeed };

type SocketData = StreamAim & { feed?: EventFeed | InspectionFeed };

/**
 * Seconds of silence after which a client that answers no ping is taken for gone. One that was told to go and
 * does not even read that is dropped by the library after 16 seconds.
 */
const IDLE_SECONDS = 60;
/** Clients have nothing to say on a stream. */
const MAX_MESSAGE_BYTES = 1024;
const GOING_AWAY = 1001;

/** The open streams of a gateway. */
export class StreamSockets {
  readonly #hub: EventHub;
  readonly #port: ClusterPort;
  readonly #log: Logger;
  readonly #limits: FeedLimits;
  readonly #open = new Set<WebSocket<SocketData>>();
  #stopped = false;

  constructor(port: ClusterPort, log: Logger, limits: FeedLimits = FEED_LIMITS) {
    this.#hub = new EventHub(port.events);
    this.#port = port;
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
      drain: (ws) => ws.getUserData().feed?.drained(),
      close: (ws) => {
        this.#open.delete(ws);
        ws.getUserData().feed?.closed();
      },
    });
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
    this.#open.add(ws);
    const data = ws.getUserData();
    const socket: FeedSocket = {
      send: (text) => void ws.send(text),
      cork: (work) => void ws.cork(work),
      buffered: () => ws.getBufferedAmount(),
      end: (code, reason) => {
        const what = data.of === 'events' ? 'an event stream' : 'an inspection stream';
        this.#log.info({ ...aboutOf(data), code }, `${what} is closed: ${reason}`);
        ws.end(code, reason);
      },
    };
    if (data.of === 'inspection') data.feed.attach(socket);
    else this.#feedEvents(data, socket);
  }

  #feedEvents(data: SocketData & { of: 'events' }, socket: FeedSocket): void {
    const feed = new EventFeed({
      socket,
      hub: this.#hub,
      reads: this.#port.reads,
      jobId: data.jobId,
      afterId: data.afterId,
      limits: this.#limits,
      onFault: (err) => this.#log.warn({ err, ...aboutOf(data) }, 'an event stream ended early'),
    });
    data.feed = feed;
    feed.start();
  }
}

const aboutOf = (aim: StreamAim) => (aim.of === 'events' ? { job_id: aim.jobId } : { actor_id: aim.actorId });

function sayGoodbye(ws: WebSocket<SocketData>): void {
  const again = ws.getUserData().of === 'events' ? 'resume with after_id' : 'connect again';
  ws.end(GOING_AWAY, `the server is shutting down; ${again}`);
}
