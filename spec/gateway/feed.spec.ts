import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { FEED_LIMITS, shared } from '../../gateway/streams/feed.ts';
import { EventHub } from '../../gateway/streams/hub.ts';
import { FakeEvents } from '../support/fake-backend.ts';
import { until } from '../support/until.ts';
import { drafts, feedOf, idsUpTo, SMALL } from './feed-support.ts';

/** A feed whose client has all that was committed, and is sent what comes as it comes. */
async function live() {
  const events = new FakeEvents();
  const { socket, feed } = feedOf(events);
  feed.start();
  await until('live', () => {
    events.commit({});
    return socket.ids.length === events.all.length;
  });
  return { events, socket };
}

describe('a feed of events', () => {
  it('sends the history page by page, then what is committed live', async () => {
    const events = new FakeEvents();
    events.commit(...drafts(10));
    const { socket, feed } = feedOf(events);
    feed.start();
    await until('the history', () => socket.ids.length === 10);
    events.commit({});
    await until('the live event', () => socket.ids.length === 11);
    events.commit({}, {});
    assert.deepEqual(socket.ids, idsUpTo(13), 'once live, an event is sent as it is published');
  });

  it('of a job leaves out other jobs, in history and live', async () => {
    const events = new FakeEvents();
    events.commit({ job_id: 'job_a' }, { job_id: 'job_b' }, { job_id: null }, { job_id: 'job_a' });
    const { socket, feed } = feedOf(events, { jobId: 'job_a' });
    feed.start();
    await until('the history', () => socket.ids.length === 2);
    await until('live', () => {
      events.commit({ job_id: 'job_b' }, { job_id: 'job_a' });
      return events.reading === 0;
    });
    events.commit({ job_id: null }, { job_id: 'job_a' });
    const own = events.all.filter((event) => event.job_id === 'job_a').map((event) => event.id);
    await until('all of its own', () => socket.ids.length === own.length);
    assert.deepEqual(socket.ids, own);
  });

  it('neither misses nor repeats an event that is published while its last page is read', async () => {
    const events = new FakeEvents();
    events.commit(...drafts(2));
    let published = false;
    events.afterRead = async () => {
      if (published) return;
      published = true;
      events.commit({}, {});
    };
    const { socket, feed } = feedOf(events);
    feed.start();
    await until('all', () => socket.ids.length === 4);
    events.commit({});
    assert.deepEqual(socket.ids, idsUpTo(5));
  });

  it('does not repeat an event that the store shows before it is published', async () => {
    const events = new FakeEvents();
    const early = events.store({}, {});
    const { socket, feed } = feedOf(events);
    feed.start();
    await until('the history', () => socket.ids.length === 2);
    events.publish(early);
    events.commit({});
    await until('the next', () => socket.ids.length === 3);
    assert.deepEqual(socket.ids, [1, 2, 3]);
  });

  it('continues from the store when more is published than the hub remembers', async () => {
    const events = new FakeEvents();
    let rounds = 3;
    events.afterRead = async () => {
      if (rounds-- > 0) events.commit(...drafts(300));
    };
    const { socket, feed } = feedOf(events, { limits: { ...SMALL, pageSize: 500 } });
    feed.start();
    await until('all', () => socket.ids.length === 900);
    events.commit({});
    assert.deepEqual(socket.ids, idsUpTo(901));
  });

  it('sends the history only as fast as a slow client reads, and never gives it up', async () => {
    const events = new FakeEvents();
    events.commit(...drafts(100));
    const { socket, feed } = feedOf(events);
    socket.stalls = true;
    feed.start();
    while (socket.ids.length < 100) {
      await until('a full buffer, or the end', () => socket.waiting > 600 || socket.ids.length === 100);
      assert.ok(socket.waiting < 1000, 'no more is sent than fits');
      events.commit({});
      socket.take();
    }
    assert.deepEqual(socket.ids.slice(0, 100), idsUpTo(100));
    assert.equal(socket.closed, undefined);
  });

  it('buffers nothing for a slow client: what did not fit is read again, and then less at once', async () => {
    const events = new FakeEvents();
    events.commit(...drafts(60));
    const asked: { after_id: number; limit: number }[] = [];
    const read = events.read.bind(events);
    events.read = (query) => {
      asked.push({ after_id: query.after_id, limit: query.limit });
      return read(query);
    };
    const { socket, feed } = feedOf(events, { limits: { ...SMALL, pageSize: 50 } });
    socket.stalls = true;
    feed.start();
    await until('a full buffer', () => socket.waiting > 600);
    const sent = socket.ids.length;
    assert.ok(sent < 10, 'most of the page did not fit');
    socket.take();
    await until('the next look at the store', () => asked.length === 2);
    assert.deepEqual(asked[1], { after_id: sent, limit: sent });
    socket.stalls = false;
    socket.take();
    await until('everything', () => socket.ids.length === 60);
    assert.deepEqual(socket.ids, idsUpTo(60));
  });

  it('reads at once about as much as may wait: few large events, or many small ones', async () => {
    const largestPage = async (characters: number) => {
      const events = new FakeEvents();
      events.commit(...Array.from({ length: 300 }, () => ({ data: { text: 'x'.repeat(characters) } })));
      const asked: number[] = [];
      const read = events.read.bind(events);
      events.read = (query) => {
        asked.push(query.limit);
        return read(query);
      };
      const limits = { maxBuffered: 50_000, historyBuffered: 10_000, pageSize: 200 };
      const { socket, feed } = feedOf(events, { limits });
      feed.start();
      await until('everything', () => socket.ids.length === 300);
      assert.deepEqual(socket.ids, idsUpTo(300));
      return Math.max(...asked);
    };
    assert.ok((await largestPage(5000)) <= 8, 'nobody knows how large the first ones are, so they are few');
    assert.ok((await largestPage(10)) > 50, 'small events are read many at once');
  });

  it('may buffer less the more streams there are, so that all together stay bounded', () => {
    const bytes = (streams: number) => streams * shared(FEED_LIMITS, () => streams).maxBuffered;
    assert.equal(shared(FEED_LIMITS, () => 1).maxBuffered, FEED_LIMITS.maxBuffered);
    for (const streams of [16, 500, 10_000]) assert.equal(bytes(streams), 16 * 1024 * 1024);
  });

  it('is not given up during its history, however small its share of the buffers is', async () => {
    const events = new FakeEvents();
    events.commit(...drafts(5));
    const tiny = { maxBuffered: 20, historyBuffered: 10, pageSize: 3 };
    const { socket, feed } = feedOf(events, { limits: tiny });
    socket.stalls = true;
    feed.start();
    await until('an event that is larger than the share', () => socket.waiting > 20);
    events.commit({});
    assert.equal(socket.closed, undefined);
    socket.stalls = false;
    socket.take();
    await until('everything', () => socket.ids.length === 6);
  });

  it('closes a live client that has still not read the commits before', async () => {
    const { events, socket } = await live();
    socket.stalls = true;
    for (let i = 0; i < 100 && !socket.closed; i++) events.commit({});
    assert.equal(socket.closed?.code, 1013);
    assert.match(socket.closed?.reason ?? '', /resume with after_id/);
    assert.ok(socket.waiting < 2500, 'its memory stays bounded');
    assert.deepEqual(socket.ids, idsUpTo(socket.ids.length), 'up to there it had everything');
  });

  it('does not close a client because of one large commit: the rest of it is read from the store', async () => {
    const { events, socket } = await live();
    socket.stalls = true;
    events.commit(...drafts(200));
    assert.equal(socket.closed, undefined);
    assert.ok(socket.waiting < 2500, 'only what fits is sent');
    socket.stalls = false;
    socket.take();
    await until('the rest', () => socket.ids.length === events.all.length);
    events.commit({});
    await until('live again', () => socket.ids.length === events.all.length);
    assert.deepEqual(socket.ids, idsUpTo(events.all.length));
  });

  it('closes with "try again" when the store cannot be read', async () => {
    const events = new FakeEvents();
    events.afterRead = async () => {
      throw new Error('disk');
    };
    const { socket, feed, faults } = feedOf(events);
    feed.start();
    await until('the end', () => socket.closed !== undefined);
    assert.equal(socket.closed?.code, 1013);
    assert.equal(faults.length, 1);
  });

  it('sends nothing to a socket that closed while the store was read', async () => {
    const events = new FakeEvents();
    events.commit(...drafts(5));
    let release = () => {};
    events.afterRead = () => new Promise((resolve) => (release = resolve));
    const { socket, feed, hub } = feedOf(events);
    feed.start();
    await until('a read', () => events.reading === 1);
    socket.closed = { code: 1006, reason: '' };
    feed.closed();
    release();
    await until('the read', () => events.reading === 0);
    events.commit({});
    hub.stop();
    assert.deepEqual(socket.ids, []);
  });

  it('is complete and in order, however commits, reads and the client interleave', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('commit' as const), count: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ kind: fc.constant('stall' as const) }),
      fc.record({ kind: fc.constant('take' as const) }),
      fc.record({ kind: fc.constant('turn' as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.nat(20), async (steps, history) => {
        const events = new FakeEvents();
        if (history > 0) events.commit(...drafts(history));
        events.afterRead = () => new Promise((resolve) => setImmediate(resolve));
        const { socket, feed } = feedOf(events, { limits: { ...SMALL, maxBuffered: 1e9 } });
        feed.start();
        for (const action of steps) {
          if (action.kind === 'commit') events.commit(...drafts(action.count));
          else if (action.kind === 'stall') socket.stalls = true;
          else if (action.kind === 'take') {
            socket.stalls = false;
            socket.take();
          } else await new Promise((resolve) => setImmediate(resolve));
        }
        socket.stalls = false;
        socket.take();
        await until('everything', () => socket.ids.length >= events.all.length);
        assert.deepEqual(socket.ids, idsUpTo(events.all.length));
      }),
      { numRuns: 200 },
    );
  });
});

describe('the hub of events', () => {
  it('serialises an event once, however many listen', () => {
    const events = new FakeEvents();
    const hub = new EventHub(events);
    const texts: string[] = [];
    let reads = 0;
    for (let i = 0; i < 3; i++) {
      hub.follow({ jobId: undefined, publish: (batch) => texts.push(...batch.map((p) => p.text)) });
    }
    const data = {
      toJSON: () => {
        reads++;
        return {};
      },
    };
    events.commit({ data });
    assert.equal(texts.length, 3);
    assert.equal(reads, 1);
  });

  it('needs one subscription, and ends it', () => {
    const events = new FakeEvents();
    const hub = new EventHub(events);
    assert.equal(events.listeners.size, 1);
    hub.stop();
    assert.equal(events.listeners.size, 0);
  });

  it('gives what was published after an id, or says that it no longer has it', () => {
    const events = new FakeEvents();
    events.commit(...drafts(5));
    const hub = new EventHub(events);
    assert.equal(hub.since(4), null, 'it was not there yet');
    events.commit(...drafts(10));
    assert.deepEqual(
      hub.since(5)?.map(({ event }) => event.id),
      idsUpTo(15, 6),
    );
    assert.deepEqual(hub.since(15), []);
    events.commit(...drafts(250));
    assert.equal(hub.since(8), null);
    assert.deepEqual(
      hub.since(9)?.map(({ event }) => event.id),
      idsUpTo(265, 10),
    );
    events.commit(...drafts(1000));
    assert.equal(hub.since(265), null);
    assert.equal(hub.since(1009)?.length, 256);
  });
});
