import assert from 'node:assert/strict';
import { EventFeed, type FeedLimits } from '../../gateway/streams/feed.ts';
import { EventHub } from '../../gateway/streams/hub.ts';
import type { FakeEvents } from '../support/fake-backend.ts';

/** A socket whose client reads only when the test says so. */
export class StallingSocket {
  readonly ids: number[] = [];
  waiting = 0;
  closed: { code: number; reason: string } | undefined;
  stalls = false;
  feed: EventFeed | undefined;

  send(text: string): void {
    assert.equal(this.closed, undefined, 'a closed socket is left alone');
    this.ids.push((JSON.parse(text) as { id: number }).id);
    if (this.stalls) this.waiting += text.length;
  }
  cork(work: () => void): void {
    work();
  }
  buffered(): number {
    assert.equal(this.closed, undefined, 'a closed socket is left alone');
    return this.waiting;
  }
  end(code: number, reason: string): void {
    this.closed = { code, reason };
  }
  take(): void {
    this.waiting = 0;
    if (!this.closed) this.feed?.drained();
  }
}

export const SMALL: FeedLimits = { maxBuffered: 2000, historyBuffered: 600, pageSize: 3 };

export function feedOf(
  events: FakeEvents,
  aim: { jobId?: string; afterId?: number; limits?: FeedLimits } = {},
) {
  const socket = new StallingSocket();
  const hub = new EventHub(events);
  const faults: unknown[] = [];
  const feed = new EventFeed({
    socket,
    hub,
    reads: { events: (query) => events.read(query) },
    jobId: aim.jobId,
    afterId: aim.afterId ?? 0,
    limits: aim.limits ?? SMALL,
    onFault: (fault) => faults.push(fault),
  });
  socket.feed = feed;
  return { socket, feed, hub, faults };
}

export const drafts = (count: number) => Array.from({ length: count }, () => ({}));
export const idsUpTo = (last: number, first = 1) =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i);
