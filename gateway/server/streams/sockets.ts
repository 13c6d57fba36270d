import type { TemplatedApp, WebSocket } from 'uWebSockets.js';
import type { Logger } from 'pino';
import type { ClusterPort } from '../../ports.ts';
import { EventFeed, FEED_LIMITS, type FeedLimits } from './feed.ts';
import { EventHub } from './hub.ts';

/** What an upgraded socket carries. */
export interface StreamAim {
  jobId: string | undefined;
  afterId: number;
}

interface SocketData extends StreamAim {
  feed?: EventFeed;
}

/**
 * Seconds of silence after which a client that answers no ping is taken for gone. One that was told to go and
 * does not even read that is dropped by the library after 16 seconds.
 */
const IDLE_SECONDS = 60;
/** Clients have nothing to say on a stream. */
const MAX_MESSAGE_BYTES = 1024;
const GOING_AWAY = 1001;

/** The open event streams of a gateway. */
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
    this.#limits = limits;
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
    data.feed = new EventFeed({
      socket: {
        send: (text) => void ws.send(text),
        cork: (work) => void ws.cork(work),
        buffered: () => ws.getBufferedAmount(),
        end: (code, reason) => {
          this.#log.info({ job_id: data.jobId, code }, `an event stream is closed: ${reason}`);
          ws.end(code, reason);
        },
      },
      hub: this.#hub,
      reads: this.#port.reads,
      jobId: data.jobId,
      afterId: data.afterId,
      limits: this.#limits,
      onFault: (err) => this.#log.warn({ err, job_id: data.jobId }, 'an event stream ended early'),
    });
    data.feed.start();
  }
}

function sayGoodbye(ws: WebSocket<SocketData>): void {
  ws.end(GOING_AWAY, 'the server is shutting down; resume with after_id');
}
