import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { job, jobIdOf, TestCluster, withJob, withWorker } from '../support/cluster.ts';
import { sweep } from '../support/job.ts';
import type { TestWorker } from '../support/test-worker.ts';
import { until } from '../support/until.ts';
import { hold } from './slices-support.ts';

const ANN = { name: 'ann', rights: ['submit', 'read', 'cancel'] } as const;
const BOB = { name: 'bob', rights: ['submit', 'read', 'cancel'] } as const;
const ADMIN = { name: 'root', rights: ['submit', 'read', 'cancel', 'admin'] } as const;

/** The jobs whose tasks a worker is given, in that order. */
async function order(worker: TestWorker, tasks: number): Promise<string[]> {
  const jobs: string[] = [];
  for (let i = 0; i < tasks; i++) jobs.push(jobIdOf(await worker.leaseOne()));
  return jobs;
}

describe('another priority of a job', () => {
  for (const share of ['fifo', 'owner', 'job'] as const)
    for (const restarts of [false, true])
      it(`counts for all its tasks that wait, ${restarts ? 'after a restart' : 'at once'}, with --share ${share}`, async (t) => {
        const cluster = await TestCluster.start(t, { share });
        const { id: first } = await cluster.submit(sweep(2));
        const { id: second } = await cluster.submit(sweep(2));
        const { id: third } = await cluster.submit(sweep(2, { priority: 7 }));
        await cluster.change(second, { priority: 5 });
        await cluster.change(third, { priority: -5 });
        if (restarts) await cluster.restart();
        const worker = await cluster.register({ slots_total: 9 });
        assert.deepEqual(await order(worker, 6), [second, second, first, first, third, third]);
        assert.equal((await cluster.job(second)).priority, 5);
      });

  it('counts for tasks that come back: from a worker, after a wait, and by a retry', async (t) => {
    const { cluster, id, worker } = await withJob(
      t,
      sweep(2, { retry: { max_attempts: 2, backoff_seconds: 60 } }),
      { leaseTtl: 600 },
    );
    const more = await cluster.register({ slots_total: 9 });
    const held = await worker.run();
    await more.fail(await more.run());
    await cluster.change(id, { priority: 5 });
    const { id: other } = await cluster.submit(sweep(2, { priority: 1 }));
    await cluster.requeueTask(held.task_id);
    await cluster.clock.advance(61);
    assert.deepEqual(await order(more, 4), [id, id, other, other]);

    const { id: failing } = await cluster.submit(sweep(2, { retry: { max_attempts: 1 } }));
    await more.fail(await more.run(), { retriable: false });
    await cluster.change(failing, { priority: 9 });
    await more.fail(await more.run(), { retriable: false });
    const { id: last } = await cluster.submit(sweep(1, { priority: 8 }));
    await cluster.retry(failing);
    assert.deepEqual(await order(more, 3), [failing, failing, last]);
  });

  it('moves tasks that avoid a worker, and one that waits is taken by nobody', async (t) => {
    const { cluster, id, worker } = await withJob(t, sweep(1));
    const other = await cluster.register();
    await worker.fail(await worker.run(), { fault: 'worker' });
    await cluster.change(id, { priority: 5 });
    await cluster.change(id, { priority: 6 });
    assert.deepEqual(await worker.lease(), []);
    assert.equal(jobIdOf(await other.leaseOne()), id);
    assert.deepEqual(await other.lease(), []);
  });

  it('leaves each of very many tasks once in the queue', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit(sweep(3000));
    const { id: other } = await cluster.submit(sweep(1, { priority: 1 }));
    const worker = await cluster.register({ slots_total: 4000 });
    assert.equal(jobIdOf(await worker.leaseOne()), other);
    for (const priority of [2, -2, 2]) await cluster.change(id, { priority });
    const seen = new Set<string>();
    for (let tasks = await worker.lease(1000); tasks.length > 0; tasks = await worker.lease(1000))
      for (const { task_id } of tasks) assert.ok(!seen.has(task_id) && seen.add(task_id));
    assert.equal(seen.size, 3000);
  });

  it('is one small commit, however many tasks the job has, which reads the same after restarts and changes', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit(sweep(300));
    const { id: other } = await cluster.submit(sweep(2, { priority: 1 }));
    let commits = 0;
    cluster.faults.beforeCommit = async () => void commits++;
    await cluster.change(id, { priority: 2 });
    assert.equal(commits, 1);
    const worker = await cluster.register({ slots_total: 9 });
    assert.deepEqual(await order(worker, 1), [id]);
    await cluster.change(id, { priority: 0 });
    await cluster.restart();
    assert.deepEqual(await order(worker, 1), [other]);
    await cluster.change(id, { priority: -1 });
    await cluster.change(id, { priority: 3 });
    await cluster.restart();
    assert.deepEqual(await order(worker, 2), [id, id]);
    await cluster.change(id, { priority: 0 });
    assert.deepEqual(await order(worker, 2), [other, id]);
  });

  it('is followed by a cancellation that finds every task, also where the server ends in the middle of it', async (t) => {
    const cluster = await TestCluster.start(t, { sliceSize: 2 });
    const { id } = await cluster.submit(sweep(7));
    await cluster.change(id, { priority: 5 });
    await cluster.restart();
    const second = hold(cluster, 1);
    const asked = cluster.cancel(id);
    await second.reached;
    second.fail();
    await asked;
    await cluster.restart();
    cluster.log.length = 0;
    await until('the end', async () => (await cluster.job(id)).status === 'cancelled');
    const { id: other } = await cluster.submit(sweep(1));
    const worker = await cluster.register({ slots_total: 9 });
    assert.deepEqual((await worker.lease(9)).map(jobIdOf), [other]);
    assert.deepEqual(
      cluster.log.filter(({ level }) => (level as number) >= 50),
      [],
    );
  });

  it('in the middle of a cancellation or after the end is refused', async (t) => {
    const { cluster, id, worker } = await withJob(t, sweep(2));
    await worker.run();
    await cluster.cancel(id);
    await assert.rejects(cluster.change(id, { priority: 1 }), { code: 'illegal_transition' });
    const { id: other } = await cluster.submit(job());
    await cluster.cancel(other);
    await assert.rejects(cluster.change(other, { priority: 1 }), { code: 'illegal_transition' });
    await cluster.change(other, { name: 'a name', tags: ['x'], note: 'a note' });
  });

  it('that cannot be committed leaves the queue as it was', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id: first } = await cluster.submit(sweep(2));
    const { id: second } = await cluster.submit(sweep(2));
    cluster.fillDisk();
    await assert.rejects(cluster.change(second, { priority: 5 }), { code: 'store_unavailable' });
    await cluster.servesAgain();
    const worker = await cluster.register({ slots_total: 9 });
    assert.deepEqual(await order(worker, 4), [first, first, second, second]);
  });

  it('is that of tasks that a job has later', async (t) => {
    const { cluster, worker } = await withWorker(t, { slots_total: 9 });
    const { id } = await cluster.submit(sweep(1, { select: { by: 'cv_rmse' } }));
    const variant = await worker.run();
    await cluster.change(id, { priority: 5 });
    const { id: other } = await cluster.submit(sweep(1, { priority: 1 }));
    await worker.complete(variant, { metrics: { cv_rmse: 1 } });
    assert.deepEqual(await order(worker, 2), [id, other]);
  });
});

describe('a job', () => {
  it('is called, described and found otherwise once that was changed, and after a restart', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit(
      job({ name: 'first name', note: 'a note', tags: ['corn', 'a b', 'corn'] }),
    );
    const before = await cluster.job(id);
    assert.deepEqual([before.name, before.note, before.tags], ['first name', 'a note', ['corn', 'a b']]);
    await cluster.change(id, { name: 'Zweiter', note: null, tags: ['wheat', 'corn', 'wheat'] });
    const named = async (name: string) => (await cluster.seen.jobs({ name, limit: 9 })).map((one) => one.id);
    for (const restarts of [false, true]) {
      if (restarts) await cluster.restart();
      const { name, note, tags } = await cluster.job(id);
      assert.deepEqual([name, note, tags], ['Zweiter', null, ['wheat', 'corn']]);
      assert.deepEqual([await named('first'), await named('zweit'), await named('ei')], [[], [id], [id]]);
      assert.deepEqual(
        (await cluster.seen.jobs({ ref: 'zweiter', limit: 9 })).map((one) => one.id),
        [id],
      );
    }
    await cluster.change(id, { name: '', tags: null });
    const { name, tags } = await cluster.job(id);
    assert.deepEqual([name, tags, await named('zweit')], [null, [], []]);
  });

  it('that goes on keeps what was changed', async (t) => {
    const { cluster, id, worker } = await withJob(t);
    const task = await worker.run();
    await cluster.change(id, { name: 'changed', tags: ['x'], priority: 3 });
    await worker.complete(task);
    await cluster.restart();
    const { name, tags, priority, status } = await cluster.job(id);
    assert.deepEqual([name, tags, priority, status], ['changed', ['x'], 3, 'succeeded']);
  });

  it('is changed by who submitted it and by an admin, which is an event, and nothing is one where nothing is new', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit(job({ name: 'x' }), ANN);
    await assert.rejects(cluster.change(id, { name: 'y' }, BOB), { code: 'not_owner' });
    await cluster.change(id, { name: 'x', tags: [], note: '', priority: 0, keep: null }, ANN);
    await cluster.change(id, { name: 'x', tags: ['corn'], priority: 4 }, ANN);
    await cluster.change(id, { keep: 'forever', note: 'for the paper' }, ADMIN);
    const events = (await cluster.seen.events({ job_id: id, after_id: 0, limit: 99 })).filter(
      ({ type }) => type === 'job_changed',
    );
    assert.deepEqual(
      events.map(({ message, data }) => [message, data]),
      [
        [
          'ann changed the job: it has the tags corn; its priority is 4',
          { principal: 'ann', tags: ['corn'], priority: 4 },
        ],
        [
          'root changed the job: its note is another; it is kept for ever',
          { principal: 'root', note: 'for the paper', keep: 'forever' },
        ],
      ],
    );
  });

  it('that is deleted leaves no tag behind', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit(job({ tags: ['corn'] }));
    await cluster.cancel(id);
    await cluster.change(id, { tags: ['corn', 'wheat'] });
    await cluster.delete(id);
    await cluster.stop();
    const db = await open({ filename: join(cluster.stateDir, 'store.sqlite'), driver: sqlite3.Database });
    t.after(() => db.close());
    assert.deepEqual(await db.all('SELECT * FROM job_tags'), []);
  });
});
