import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RIGHTS } from '../../machines/protocol/rights.ts';
import { job, TestCluster, withWorker } from '../support/cluster.ts';
import { holdCommits } from '../support/hold-commits.ts';
import { sweep } from '../support/job.ts';
import type { TestWorker } from '../support/test-worker.ts';
import { cv, selecting } from './selection-support.ts';

const principal = (name: string) => ({ name, rights: RIGHTS });
const refused = (code: string) => (error: { code?: string }) => error.code === code;

/** Whose tasks a worker is given, one after the other, each completed before the next. */
async function served(cluster: TestCluster, worker: TestWorker, count: number): Promise<string[]> {
  const owners: string[] = [];
  for (let i = 0; i < count; i++) {
    const task = await worker.run();
    const { job_id } = JSON.parse(task.payload.text) as { job_id: string };
    owners.push((await cluster.job(job_id)).name ?? '');
    await worker.complete(task);
  }
  return owners;
}

describe('what is paused', () => {
  test('is leased to nobody until it is resumed, and says so; what runs goes on', async (t) => {
    const { cluster, worker } = await withWorker(t, { slots_total: 2 });
    await cluster.submit();
    const running = await worker.run();
    const { id } = await cluster.submit();
    await cluster.pause('all');
    await cluster.pause('all');
    assert.deepEqual(await worker.lease(), []);
    await worker.complete(running);
    assert.deepEqual((await cluster.onlyTask(id)).waiting_for, [
      { requirement: 'paused', workers_missing: 1 },
    ]);
    await cluster.restart();
    assert.deepEqual(await worker.lease(), []);
    const asked = worker.lease(1, 30);
    await cluster.unpause('all');
    assert.equal((await asked).length, 1);
    await assert.rejects(cluster.unpause('all'), refused('illegal_transition'));
    assert.deepEqual((await cluster.port.reads.stats()).paused, []);
    const types = (await cluster.eventTypes()).filter((type) => type.startsWith('queue_'));
    assert.deepEqual(types, ['queue_paused', 'queue_resumed']);
  });

  test('may be a type or an owner; the others go on', async (t) => {
    const { cluster, worker } = await withWorker(t, {
      version: { packages: { demo: '1', other: '1' } },
    });
    await cluster.submit(job({ name: 'a' }), principal('ann'));
    await cluster.submit(job({ name: 'b' }), principal('bob'));
    await cluster.submit(job({ name: 'c', type: 'other.run' }), principal('ann'));
    await cluster.pause('owner', 'ann');
    await cluster.restart();
    assert.deepEqual(await served(cluster, worker, 1), ['b']);
    assert.deepEqual(await worker.lease(), []);
    await cluster.pause('type', 'demo.run');
    await cluster.unpause('owner', 'ann');
    assert.deepEqual(await served(cluster, worker, 1), ['c']);
    assert.deepEqual(await worker.lease(), []);
    await cluster.unpause('type', 'demo.run');
    assert.deepEqual(await served(cluster, worker, 1), ['a']);
  });

  test('holds back what refits the best of a job, too, whose variants ran before', async (t) => {
    const { cluster, worker } = await withWorker(t, undefined, { share: 'job' });
    const { id } = await cluster.submit(selecting(2), principal('ann'));
    const first = await worker.run();
    await worker.complete(first, cv(2));
    const second = await worker.run();
    await cluster.pause('owner', 'ann');
    await worker.complete(second, cv(1));
    const refit = (await cluster.tasks(id)).at(-1);
    assert.deepEqual(refit?.waiting_for, [{ requirement: 'paused.owner=ann', workers_missing: 1 }]);
    assert.deepEqual(await worker.lease(), []);
    await cluster.restart();
    assert.deepEqual(await worker.lease(), []);
    const asked = worker.lease(1, 30);
    await cluster.unpause('owner', 'ann');
    assert.deepEqual(
      (await asked).map(({ task_id }) => task_id),
      [refit?.id],
    );
  });

  test('stays as it was when the store cannot commit', async (t) => {
    const { cluster, worker } = await withWorker(t);
    await cluster.submit();
    cluster.fillDisk();
    await assert.rejects(cluster.pause('all'), refused('store_unavailable'));
    await cluster.servesAgain();
    assert.deepEqual((await cluster.port.reads.stats()).paused, []);
    await cluster.pause('all');
    cluster.fillDisk();
    await assert.rejects(cluster.unpause('all'), refused('store_unavailable'));
    await cluster.servesAgain();
    assert.deepEqual(await worker.lease(), []);
    await cluster.unpause('all');
    assert.equal((await worker.lease()).length, 1);
  });
});

describe('free slots', () => {
  const submitted = async (cluster: TestCluster) => {
    await cluster.submit(sweep(6, { name: 'ann' }), principal('ann'));
    await cluster.submit(sweep(2, { name: 'ann again' }), principal('ann'));
    await cluster.submit(sweep(2, { name: 'bob' }), principal('bob'));
  };

  test('are given first come, first served, where nothing else is said', async (t) => {
    const cluster = await TestCluster.start(t);
    await submitted(cluster);
    const worker = await cluster.register();
    assert.deepEqual((await served(cluster, worker, 10)).slice(0, 7), [...Array(6).fill('ann'), 'ann again']);
  });

  test('go round by owners: a single run does not wait for a sweep, also after a restart', async (t) => {
    const cluster = await TestCluster.start(t, { share: 'owner' });
    await submitted(cluster);
    const worker = await cluster.register();
    assert.deepEqual(await served(cluster, worker, 3), ['ann', 'bob', 'ann']);
    await cluster.restart();
    const after = await served(cluster, worker, 3);
    assert.equal(after.filter((name) => name === 'bob').length, 1);
    assert.deepEqual(await served(cluster, worker, 4), ['ann', 'ann', 'ann again', 'ann again'].slice(0, 4));
  });

  test('go round by jobs', async (t) => {
    const cluster = await TestCluster.start(t, { share: 'job' });
    await submitted(cluster);
    const worker = await cluster.register();
    assert.deepEqual((await served(cluster, worker, 6)).sort(), [
      ...['ann', 'ann', 'ann again', 'ann again', 'bob', 'bob'],
    ]);
    await cluster.restart();
    assert.deepEqual(await served(cluster, worker, 4), Array(4).fill('ann'));
  });

  test('go to a higher priority first, whoever has had one', async (t) => {
    const cluster = await TestCluster.start(t, { share: 'owner' });
    await submitted(cluster);
    await cluster.submit(sweep(2, { name: 'urgent', priority: 5 }), principal('ann'));
    const worker = await cluster.register();
    assert.deepEqual(await served(cluster, worker, 3), ['urgent', 'urgent', 'bob']);
  });

  test('are given to no owner beyond the limit, and go on as soon as one of theirs is free', async (t) => {
    const cluster = await TestCluster.start(t, { maxRunningPerOwner: 2 });
    await submitted(cluster);
    const [one, other] = [await cluster.register({ slots_total: 4 }), await cluster.register()];
    const tasks = await one.lease(4);
    assert.equal(tasks.length, 4, 'two of each');
    const { id } = await cluster.submit(job({ name: 'more' }), principal('bob'));
    assert.deepEqual((await cluster.onlyTask(id)).waiting_for, [
      { requirement: 'owner_limit', workers_missing: 2 },
    ]);
    assert.deepEqual(await other.lease(), []);
    await cluster.restart();
    const asked = other.lease(1, 30);
    const [first] = tasks;
    assert.ok(first);
    await one.start(first);
    await one.complete(first);
    assert.equal((await asked).length, 1, 'whoever waits is given it');
  });

  test('are said to be kept by the limit once what is under way is committed, not before', async (t) => {
    const { cluster, worker } = await withWorker(t, { slots_total: 2 }, { maxRunningPerOwner: 1 });
    await cluster.submit();
    const { id } = await cluster.submit();
    const waitingFor = async () => (await cluster.onlyTask(id)).waiting_for;
    const hold = holdCommits(cluster, 'beforeCommit');
    const leased = worker.lease();
    await hold.first;
    const told = [await waitingFor()];
    hold.fail('SQLITE_FULL');
    await assert.rejects(leased, refused('store_unavailable'));
    await cluster.servesAgain();
    told.push(await waitingFor());
    const again = holdCommits(cluster, 'beforeCommit');
    const next = worker.lease();
    await again.first;
    told.push(await waitingFor());
    again.release();
    assert.deepEqual(told, [[], [], []]);
    assert.equal((await next).length, 1);
    assert.deepEqual(await waitingFor(), [{ requirement: 'owner_limit', workers_missing: 1 }]);
  });
});
