import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atWork, job, TestCluster, withWorker } from '../support/cluster.ts';
import { diskFull } from '../support/full-disk.ts';
import { until } from '../support/until.ts';

const site = (name: string) => job({ name, requirements: { labels: { site: name } } });

describe('a request for work that waits', () => {
  test('of a worker that fell silent and is back gets what was queued meanwhile', async (t) => {
    const { cluster, worker } = await withWorker(t, undefined, { workerDeadAfter: 45 });
    const waiting = worker.lease(1, 60);
    await worker.heartbeat();
    await cluster.clock.advance(46);
    const submitted = await cluster.submit();
    assert.equal((await cluster.onlyTask(submitted.id)).status, 'queued');
    await worker.heartbeat();
    // It is given at once, not when the request ends or the next task comes.
    assert.equal((await cluster.onlyTask(submitted.id)).status, 'leased');
    assert.equal((await waiting).length, 1);
  });

  test('keeps its place before later ones when a turn that would have answered it cannot be committed', async (t) => {
    const cluster = await TestCluster.start(t);
    const [first, second, third] = [
      await cluster.register(),
      await cluster.register(),
      await cluster.register(),
    ];
    const waiting = first.lease(1, 50);
    await first.heartbeat();
    const later = [second.lease(1, 50), third.lease(1, 50)];
    await third.heartbeat();
    cluster.fillDisk();
    await assert.rejects(cluster.submit());
    await cluster.servesAgain();
    const submitted = await cluster.submit();
    assert.equal((await cluster.onlyTask(submitted.id)).worker_id, first.id);
    assert.equal((await waiting).length, 1);
    await cluster.clock.advance(50);
    assert.deepEqual(await Promise.all(later), [[], []]);
  });

  test('gets its tasks although cancelled ones still stand before them in the queue', async (t) => {
    const cluster = await TestCluster.start(t);
    const cancelled = await cluster.submit();
    await cluster.submit();
    await cluster.submit();
    const [first, second] = [await cluster.register({ slots_total: 2 }), await cluster.register()];
    await cluster.cancel(cancelled.id);
    const both = first.lease(2, 20);
    const one = second.lease(1, 20);
    await second.heartbeat();
    assert.equal((await both).length, 2);
    await cluster.clock.advance(20);
    assert.deepEqual(await one, []);
  });

  test('is answered when the server stops, also when it was still in the mailbox', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const asked = worker.lease(1, 60);
    const held = worker.heartbeat([], 10);
    await cluster.stop();
    assert.deepEqual(await asked, []);
    assert.deepEqual(await held, { ok: true, cancel_task_ids: [] });
  });
});

describe('a lease that never reached its worker and is granted again in the same turn', () => {
  test('has a whole TTL, and nothing is taken from the worker that never had it', async (t) => {
    const cluster = await TestCluster.start(t, { leaseTtl: 60, workerDeadAfter: 600 });
    const submitted = await cluster.submit();
    const [gone, next] = [await cluster.register(), await cluster.register()];
    const lost = await gone.leaseOne();
    const waiting = next.lease(1, 60);
    await cluster.clock.advance(50);
    await cluster.port.send({ type: 'lease_undelivered', worker_id: gone.id, tasks: [lost] });
    assert.deepEqual(
      (await waiting).map((task) => task.attempt),
      [1],
    );
    assert.deepEqual(await gone.heartbeat(), { ok: true, cancel_task_ids: [] });
    await cluster.clock.advance(50);
    await next.heartbeat([]);
    const task = await cluster.onlyTask(submitted.id);
    assert.deepEqual([task.status, task.worker_id], ['leased', next.id]);
  });
});

describe('a worker whose slots look taken', () => {
  test('loses no task because it asked once', async (t) => {
    const { cluster, id, worker } = await atWork(t, undefined, { leaseTtl: 60 });
    assert.deepEqual(await worker.lease(), []);
    for (let i = 0; i < 10; i++) {
      await cluster.clock.advance(20);
      await worker.heartbeat();
    }
    assert.equal((await cluster.onlyTask(id)).status, 'running');
    assert.equal((await cluster.eventTypes()).includes('task_lost'), false);
  });
});

describe('a worker whose slots looked taken', () => {
  test('does not lose a task that it was given meanwhile', async (t) => {
    const { cluster, id, worker, task } = await atWork(t, job({ retry: { max_attempts: 2 } }), {
      leaseTtl: 60,
      workerDeadAfter: 600,
    });
    const waiting = worker.lease(1, 100);
    await worker.heartbeat();
    await cluster.clock.advance(59);
    await worker.fail(task);
    const [again] = await waiting;
    assert.equal(again?.attempt, 2);
    await cluster.clock.advance(10);
    await cluster.submit();
    assert.equal((await cluster.onlyTask(id)).status, 'leased');
    assert.equal((await cluster.eventTypes()).includes('task_lost'), false);
  });
});

describe('a store that is tried again', () => {
  test('is tried between two turns, never during one', async (t) => {
    const cluster = await TestCluster.start(t);
    let [under, most] = [0, 0];
    let works = false;
    cluster.faults.beforeCommit = async () => {
      most = Math.max(most, ++under);
      await new Promise((resolve) => setImmediate(resolve));
      under--;
      if (!works) throw diskFull();
    };
    await assert.rejects(cluster.submit());
    await cluster.clock.advance(1);
    works = true;
    const submitted = await Promise.allSettled([1, 2, 3].map(() => cluster.submit(site('a'))));
    await until('the store works', () => cluster.state === 'serving');
    assert.ok(submitted.length === 3 && most === 1, `${most} commits at the same time`);
  });
});
