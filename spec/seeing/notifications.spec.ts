import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import pino from 'pino';
import { EventBus } from '../../actors/server/event-bus.ts';
import { Notifier } from '../../actors/server/notify/notifier.ts';
import { signed } from '../../actors/server/notify/sign.ts';
import { SqliteStore } from '../../actors/server/store/sqlite-store.ts';
import type { Turn } from '../../actors/server/turn/turn.ts';
import { systemClock } from '../../actors/shared/clock.ts';
import type { LiveEvent } from '../../gateway/backend.ts';
import { nothing } from '../store/row-support.ts';
import { job, TestCluster } from '../support/cluster.ts';
import { holdCommits } from '../support/hold-commits.ts';
import { quietPort } from '../support/program.ts';
import { assertSigned, KEY, startReceiver } from '../support/receiver.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

/** A cluster that tells a receiver of the ends of jobs, with a worker. */
async function notifying(t: TestContext) {
  const receiver = await startReceiver(t, await quietPort());
  const cluster = await TestCluster.start(t);
  cluster.notify = { url: receiver.url, key: KEY };
  await cluster.restart();
  const worker = await cluster.register({ slots_total: 9 });
  /** Submits a job that ends so. */
  const ends = async (how: 'succeeded' | 'failed' | 'cancelled' = 'succeeded', differs = {}) => {
    const { id } = await cluster.submit(job(differs));
    if (how === 'cancelled') await cluster.cancel(id);
    else if (how === 'failed')
      await worker.fail(await worker.run(), { retriable: false, error: 'no such x' });
    else await worker.complete(await worker.run(), { metrics: { best_rmse: 0.5 } });
    return id;
  };
  const { received } = receiver;
  const arrived = (count: number) => until(`${count} requests`, () => received.length >= count);
  const metric = async (name: string) => {
    const { text } = await cluster.port.metrics.text('');
    return Number(new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (.*)$`, 'm').exec(text)?.[1]);
  };
  const pending = () => metric('jq_notifications_pending');
  const settles = () => until('nothing to be pending', async () => (await pending()) === 0);
  /** Lets time pass until so many requests have come in all. */
  const passesUntil = (count: number) =>
    until(`${count} requests`, async () => {
      await cluster.clock.advance(1);
      return received.length >= count;
    });
  return { cluster, worker, receiver, received, ends, arrived, metric, pending, settles, passesUntil };
}

describe('notifications', () => {
  it('are signed as Standard Webhooks says', () => {
    // An example of its own specification.
    const key = Buffer.from('plJ3nmyCDGBKInavdOK15jsl', 'base64');
    const body = '{"event_type":"ping","data":{"success":true}}';
    const headers = signed({ id: 'msg_loFOjxBNrRLzqYUf', timestamp: 1731705121, body }, key);
    assert.equal(headers['webhook-signature'], 'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=');
  });

  it('tell of the three ends of a job, with the event and the job, and are gone when they have arrived', async (t) => {
    const { cluster, received, ends, arrived, settles, metric } = await notifying(t);
    const ids = [await ends('succeeded', { name: 'corn' }), await ends('failed'), await ends('cancelled')];
    await arrived(3);
    await settles();
    received.sort((one, other) => one.body.data.event.id - other.body.data.event.id);
    assert.deepEqual(
      received.map(({ body }) => [body.type, body.data.job.id, body.data.job.status]),
      [
        ['job_succeeded', ids[0], 'succeeded'],
        ['job_failed', ids[1], 'failed'],
        ['job_cancelled', ids[2], 'cancelled'],
      ],
    );
    for (const one of received) assertSigned(one);
    const [good, bad] = received.map(({ body }) => body.data);
    assert.deepEqual([good?.job.name, good?.event.data.best_metric], ['corn', 0.5]);
    assert.match(bad?.job.error as string, /no such x/);
    const [event] = (await cluster.seen.events({ job_id: ids[1] as string, after_id: 0, limit: 100 })).filter(
      ({ type }) => type === 'job_failed',
    );
    assert.deepEqual(bad?.event, event);
    assert.equal(await metric('jq_notification_attempts_total{end="delivered"}'), 3);
  });

  it('come again with each further end of a job, under another id', async (t) => {
    const { cluster, worker, ends, received, arrived } = await notifying(t);
    const id = await ends('failed');
    await arrived(1);
    await cluster.retry(id);
    await worker.complete(await worker.run());
    await arrived(2);
    assert.deepEqual(
      received.map(({ body }) => body.type),
      ['job_failed', 'job_succeeded'],
    );
    assert.notEqual(received[0]?.id, received[1]?.id);
  });

  it('are not sent before the end of the job is committed, nor when that fails', async (t) => {
    const { cluster, worker, received, arrived } = await notifying(t);
    await cluster.submit();
    const task = await worker.run();
    const held = holdCommits(cluster, 'beforeCommit');
    const reported = worker.complete(task);
    await held.first;
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(received.length, 0);
    held.fail('SQLITE_FULL');
    await until('the outage', () => cluster.state === 'degraded');
    assert.equal(received.length, 0);
    await cluster.servesAgain();
    await reported;
    await arrived(1);
    assert.equal(received.length, 1);
  });

  it('that are refused come again, the same to the letter and under the same id, in a log of one line', async (t) => {
    const { cluster, receiver, received, ends, arrived, passesUntil, settles, metric } = await notifying(t);
    receiver.answers(500);
    await ends();
    await arrived(1);
    await passesUntil(4);
    receiver.answers(200);
    await passesUntil(5);
    await settles();
    assert.equal(new Set(received.map(({ id }) => id)).size, 1);
    assert.equal(new Set(received.map(({ text }) => text)).size, 1);
    for (const one of received) assertSigned(one);
    const times = received.map(({ headers }) => Number(headers['webhook-timestamp']));
    assert.ok((times[4] as number) > (times[0] as number), 'signed for the time of each try');
    const lines = cluster.log.filter(({ msg }) => /notification/.test(msg)).map(({ msg }) => msg);
    assert.deepEqual(lines, [
      'a notification did not arrive, and is tried again: it answered 500',
      'notifications arrive again',
    ]);
    assert.equal(await metric('jq_notification_attempts_total{end="failed"}'), 4);
  });

  it('do not follow redirects', async (t) => {
    const { cluster, receiver, ends, arrived, pending } = await notifying(t);
    const elsewhere = await startReceiver(t);
    receiver.answers(307, { location: elsewhere.url });
    await ends();
    await arrived(1);
    await until('the line', () => cluster.log.some(({ msg }) => /it answered 307: redirects/.test(msg)));
    assert.deepEqual([elsewhere.received.length, await pending()], [0, 1]);
  });

  it('to a receiver that hangs hold up nobody, and are tried again', async (t) => {
    const { cluster, worker, receiver, ends, arrived, passesUntil, settles } = await notifying(t);
    receiver.hangs();
    await ends();
    await arrived(1);
    // Jobs go on meanwhile.
    for (let i = 0; i < 20; i++) await ends();
    assert.equal((await worker.view()).slots_used, 0);
    receiver.answers(204);
    await passesUntil(22);
    await settles();
    assert.ok(cluster.log.some(({ msg }) => /it did not answer within 10 s/.test(msg)));
  });

  it('to a receiver that is away wait for it, also over a restart of the server', async (t) => {
    const { cluster, receiver, ends, pending, settles } = await notifying(t);
    await receiver.close();
    const ids = [await ends(), await ends('cancelled')];
    await until('a line', () =>
      cluster.log.some(({ msg }) => /cannot be reached \(ECONNREFUSED\)/.test(msg)),
    );
    await cluster.restart();
    assert.equal(await pending(), 2);
    const back = await startReceiver(t, receiver.port);
    await until('both', async () => {
      await cluster.clock.advance(1);
      return back.received.length >= 2;
    });
    await settles();
    assert.deepEqual(back.received.map(({ body }) => body.data.job.id).sort(), ids.sort());
  });

  it('are given up at last, with a line that says of which job', async (t) => {
    const { cluster, receiver, ends, arrived, settles, metric } = await notifying(t);
    receiver.answers(503);
    const id = await ends();
    await arrived(1);
    const isSaid = () => cluster.log.some(({ msg }) => /nobody is told any more/.test(msg));
    await until('the end', () => cluster.clock.advance(1000).then(isSaid), 120);
    await settles();
    assert.equal(await metric('jq_notifications_given_up_total'), 1);
    assert.equal(await metric('jq_notification_attempts_total{end="failed"}'), 60);
    const [line] = cluster.log.filter(({ msg }) => /nobody is told any more/.test(msg)) as {
      level: number;
      msg: string;
    }[];
    assert.ok(line?.level === 50 && line.msg.includes(id), JSON.stringify(line));
  });

  it('that have arrived while the store cannot commit are not sent again', async (t) => {
    const { cluster, receiver, received, ends, arrived, pending } = await notifying(t);
    const { fetch } = globalThis;
    let isRead = false;
    t.mock.method(globalThis, 'fetch', async (...asked: Parameters<typeof fetch>) => {
      const answer = await fetch(...asked);
      isRead = true;
      return answer;
    });
    receiver.hangs();
    await ends();
    await arrived(1);
    cluster.fillDisk();
    await assert.rejects(cluster.submit());
    receiver.answer();
    // Else the time that passes now would be that of the receiver.
    await until('the answer to be read', () => isRead);
    for (let i = 0; i < 30; i++) await cluster.clock.advance(1);
    await cluster.servesAgain();
    await until('it to be written', async () => {
      await cluster.clock.advance(1);
      return (await pending()) === 0;
    });
    assert.equal(received.length, 1);
  });

  it('of a job that ends just after the last look found nothing are sent, though no other job ends', async (t) => {
    const receiver = await startReceiver(t);
    const store = await SqliteStore.open(await temporaryDirectory(t));
    const events = new EventBus();
    const { queries } = store;
    /** A job ends, once, while it is asked when to look again. */
    let ends: (() => Promise<void>) | null = async () => {
      ends = null;
      const now = Date.now() / 1000;
      const told = {
        id: 1,
        job_id: 'job_1',
        body: '{}',
        created_at: now,
        attempts: 0,
        error: null,
        next_at: now,
      };
      await store.commit({ ...nothing(), notifications: [told] });
      events.publish([{ id: 1, type: 'job_succeeded', task_id: null } as LiveEvent]);
    };
    const notifier = new Notifier(
      {
        receiver: { url: receiver.url, key: KEY },
        store: {
          load: (...asked) => store.load(...asked),
          queries: {
            get: async (...asked: Parameters<typeof queries.get>) => {
              const found = await queries.get(...asked);
              await ends?.();
              return found;
            },
          } as typeof queries,
        },
        ...{ clock: systemClock, random: randomBytes, log: pino({ level: 'silent' }) },
        alone: async (work) => {
          const turn = { further: [] };
          await work(turn as unknown as Turn);
          await store.commit({ ...nothing(), ...turn });
        },
      },
      events,
    );
    t.after(async () => {
      await notifier.stop();
      await store.close();
    });
    notifier.start();
    await until('it to be told', () => notifier.counts.delivered === 1);
  });

  it('are not kept where nobody is to be told', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit();
    await cluster.cancel(id);
    const { text } = await cluster.port.metrics.text('');
    assert.match(text, /^jq_notifications_pending 0$/m);
  });
});
