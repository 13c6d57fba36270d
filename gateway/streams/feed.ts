import type { EventView } from '../../machines/schema/views.ts';
import type { Reads } from '../backend.ts';
import type { StreamSocket } from '../transport/transport.ts';
import type { EventHub, Follower, Published } from './hub.ts';

export interface FeedLimits {
  /** Bytes that may wait for a client who follows live; beyond it the client is too slow. */
  readonly maxBuffered: number;
  /** Bytes that may wait while history is sent; it is read on when they are taken. */
  readonly historyBuffered: number;
  /** Events read at once from the store, at most. */
  readonly pageSize: number;
}

export const FEED_LIMITS: FeedLimits = {
  maxBuffered: 1024 * 1024,
  historyBuffered: 256 * 1024,
  pageSize: 200,
};

/** Bytes that may wait for all streams together, one more event each not counted. */
const ALL_BUFFERED = 16 * 1024 * 1024;

/** The limits of one stream among many: what may wait for it is its share of what may wait for all. */
export function shared(limits: FeedLimits, streams: () => number): FeedLimits {
  const share = (limit: number, all: number) => Math.min(limit, all / Math.max(1, streams()));
  return {
    pageSize: limits.pageSize,
    get maxBuffered() {
      return share(limits.maxBuffered, ALL_BUFFERED);
    },
    get historyBuffered() {
      return share(limits.historyBuffered, ALL_BUFFERED / 2);
    },
  };
}

/** Events that are read first, before it is known how large they are and how much the client takes. */
const FIRST_PAGE = 8;

/** Close codes (RFC 6455 and its registry). */
const TRY_AGAIN_LATER = 1013;

interface FeedParts {
  socket: StreamSocket;
  hub: EventHub;
  reads: Pick<Reads, 'events'>;
  /** The job whose events are sent; undefined for all. */
  jobId: string | undefined;
  /** Only events behind this id are sent. */
  afterId: number;
  limits: FeedLimits;
  onFault: (error: unknown) => void;
  /** Told how many live events were due to a client that is closed as too slow. */
  onDropped?: (frames: number) => void;
}

/**
 * One socket's events: history from the store, then live, none missed or doubled in between.
 *
 * `#cursor` is the id of the last event sent. While catching up, nothing is kept for the socket: what is
 * published meanwhile is read from the store in its turn. The switch to live happens within one call, when the
 * store had nothing more and the hub still knows all that was published since that was asked.
 */
export class EventFeed implements Follower {
  readonly jobId: string | undefined;
  readonly #parts: FeedParts;
  #cursor: number;
  #state: 'catching-up' | 'live' | 'closed' = 'catching-up';
  /** Whether the client has had all of the history. */
  #hasHistory = false;
  #drained: () => void = () => {};

  constructor(parts: FeedParts) {
    this.#parts = parts;
    this.jobId = parts.jobId;
    this.#cursor = parts.afterId;
  }

  /** Begins with the history; returns at once. */
  start(): void {
    this.#catchUp();
  }

  /** The client has taken what was waiting. */
  drained(): void {
    this.#drained();
  }

  /** The socket has closed and must not be touched any more. */
  closed(): void {
    this.#state = 'closed';
    this.#parts.hub.unfollow(this);
    this.#drained();
  }

  publish(batch: readonly Published[]): void {
    if (this.#state === 'closed') return;
    // Still waiting from an earlier commit: this client does not keep up. With the history it may take its time.
    if (this.#hasHistory && this.#isFull(this.#parts.limits.maxBuffered)) {
      this.#parts.onDropped?.(batch.length);
      this.#end(TRY_AGAIN_LATER, 'too slow; resume with after_id');
    } else if (this.#state === 'live') {
      this.#sendLive(batch);
    }
  }

  /** There is room for one event at least. */
  #sendLive(batch: readonly Published[]): void {
    const [first] = batch;
    // The usual case, for every stream at every commit: nothing to gather.
    if (first !== undefined && batch.length === 1) {
      this.#send(first.event, () => first.text);
      return;
    }
    const sent = this.#sendWhatFits(batch, this.#parts.limits.maxBuffered, (published) => {
      this.#send(published.event, () => published.text);
    });
    // One large commit alone is not the client's fault: the rest of it is read from the store.
    if (sent < batch.length) this.#catchUp();
  }

  /** Tells how many were sent before too much waited. */
  #sendWhatFits<T>(all: readonly T[], limit: number, send: (one: T) => void): number {
    let next = 0;
    do {
      this.#parts.socket.cork(() => {
        while (next < all.length && !this.#isFull(limit)) send(all[next++] as T);
      });
      // What was gathered may have gone out at once, and then there is room again.
    } while (next < all.length && !this.#isFull(limit));
    return next;
  }

  #isFull(limit: number): boolean {
    return this.#parts.socket.buffered() > limit;
  }

  /** An event that was sent already is passed over. */
  #send(event: Pick<EventView, 'id'>, text: () => string): void {
    if (event.id <= this.#cursor) return;
    this.#cursor = event.id;
    this.#parts.socket.send(text());
  }

  #isClosed(): boolean {
    return this.#state === 'closed';
  }

  #end(code: number, reason: string): void {
    if (this.#isClosed()) return;
    this.#parts.socket.end(code, reason);
    this.closed();
  }

  #catchUp(): void {
    this.#state = 'catching-up';
    this.#readHistory().catch((error: unknown) => {
      if (this.#isClosed()) return;
      this.#parts.onFault(error);
      this.#end(TRY_AGAIN_LATER, 'the events cannot be read; resume with after_id');
    });
  }

  async #readHistory(): Promise<void> {
    const { hub, reads, limits } = this.#parts;
    let pageSize = Math.min(FIRST_PAGE, limits.pageSize);
    for (;;) {
      await this.#room();
      if (this.#isClosed()) return;
      const horizon = hub.lastId;
      const { events, more } = await reads.events({
        ...(this.jobId === undefined ? {} : { job_id: this.jobId }),
        after_id: this.#cursor,
        limit: pageSize,
      });
      if (this.#isClosed()) return;
      const { sent, bytes } = this.#sendPage(events);
      const all = sent === events.length;
      if (all && !more && this.#goLive(horizon)) return;
      // Of large events few are read at once, and for a client that takes little, little: what is read for nothing
      // costs memory, and many may be reading.
      const fitting = all ? pageSize * 2 : sent;
      const filling = sent === 0 ? 1 : Math.ceil(limits.historyBuffered / (bytes / sent));
      pageSize = Math.max(1, Math.min(limits.pageSize, fitting, filling));
    }
  }

  /**
   * Sends of a page what fits, and tells how many that were, and their characters. The rest is not kept for the client,
   * since there may be many who take their time, but read again when there is room.
   */
  #sendPage(page: readonly EventView[]): { sent: number; bytes: number } {
    let bytes = 0;
    const sent = this.#sendWhatFits(page, this.#parts.limits.historyBuffered, (event) => {
      const text = JSON.stringify(event);
      bytes += text.length;
      this.#send(event, () => text);
    });
    return { sent, bytes };
  }

  /** The store had nothing more at `horizon`; live if what came since is known and fits. */
  #goLive(horizon: number): boolean {
    const { hub, limits } = this.#parts;
    const missed = hub.since(horizon);
    if (missed === null) return false;
    for (const published of missed) {
      if (this.#isFull(limits.historyBuffered)) return false;
      const { job_id } = published.event;
      if (this.jobId !== undefined && job_id !== this.jobId) continue;
      this.#send(published.event, () => published.text);
    }
    this.#state = 'live';
    this.#hasHistory = true;
    hub.follow(this);
    return true;
  }

  /** Resolves when the client has taken enough for more to be sent. */
  async #room(): Promise<void> {
    while (!this.#isClosed() && this.#isFull(this.#parts.limits.historyBuffered)) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve;
      });
    }
  }
}
