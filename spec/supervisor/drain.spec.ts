import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LeasedTask } from '../../gateway/messages.ts';
import { conditionOf } from '../../machines/worker/condition.ts';
import { atWork, job, TestCluster, withWorker } from '../support/cluster.ts';
import { diskFull } from '../support/full-disk.ts';
import type { TestWorker } from '../support/test-worker.ts';
import { until } from '../support/until.ts';

const viewOf = async (cluster: TestCluster, id: string) =>
  (await cluster.seen.workers()).find((worker) => worker.id === id);

const condition = async (cluster: TestCluster, id: string) => {
  const view = await viewOf(cluster, id);
  return view && conditionOf(view);
};

/** What time has done is seen when it is committed. */
const becomes = (cluster: TestCluster, id: string, word: string) =>
  until(`the worker is ${word}`, async () => (await condition(cluster, id)) === word);

const isQueued = (cluster: TestCluster, id: string) =>
  until('the task is queued', async () => (await cluster.onlyTask(id)).status === 'queued');

const workerEvents = async (cluster: TestCluster) =>
  (await cluster.eventTypes()).filter((type) => type.startsWith('worker_'));

const refused = (code: string) => (error: { code?: string }) => error.code === code;

describe('a worker that an operator drains', () => {
  test('finishes what it has and is given nothing more, also through a request that it made before', async (t) => {
    const { cluster, worker } = await withWorker(t, { slots_total: 2 });
    await cluster.submit();
    const task = await worker.run();
    const asked = worker.lease(1, 30);
    await cluster.drain(worker.id);
    assert.equal(await condition(cluster, worker.id), 'draining');
    const { id } = await cluster.submit();
    assert.deepEqual((await cluster.onlyTask(id)).waiting_for, [
      { requirement: 'drained', workers_missing: 1 },
    ]);
    assert.deepEqual(await worker.lease(2), []);
    await worker.complete(task);
    assert.equal(await condition(cluster, worker.id), 'drained');
    assert.equal((await cluster.onlyTask(id)).status, 'queued');
    assert.deepEqual(await workerEvents(cluster), [
      'worker_registered',
      'worker_drain_ordered',
      'worker_drained',
    ]);
    await cluster.resume(worker.id);
    assert.deepEqual(
      (await asked).map(({ task_id }) => task_id),
      [(await cluster.onlyTask(id)).id],
      'what it asked for before it was drained it is given when it is resumed',
    );
    assert.equal(await condition(cluster, worker.id), 'alive');
  });

  for (const [end, finish] of Object.entries({
    succeeds: (worker, task) => worker.complete(task),
    fails: (worker, task) => worker.fail(task, { retriable: false }),
    'is tried again': (worker, task) => worker.fail(task),
    'is taken back': (worker, _, cluster) => cluster.drain(worker.id, 0),
  } satisfies Record<
    string,
    (worker: TestWorker, task: LeasedTask, cluster: TestCluster) => Promise<unknown>
  >))
    test(`says that it has no task any more behind the event that its last one ${end}`, async (t) => {
      const { cluster, worker } = await withWorker(t);
      await cluster.submit();
      const task = await worker.run();
      await cluster.drain(worker.id);
      await finish(worker, task, cluster);
      const types = await cluster.eventTypes();
      assert.equal(types.at(-1), 'worker_drained', types.join());
      assert.match(types.at(-2) ?? '', /^(task|job)_/);
    });

  test('stays drained when it beats, registers, falls silent and comes back, and when the server is started anew', async (t) => {
    const { cluster, worker } = await withWorker(t);
    await cluster.drain(worker.id);
    await cluster.submit();
    await worker.heartbeat([]);
    assert.deepEqual(await worker.lease(), []);
    await cluster.register({ worker_id: worker.id });
    assert.deepEqual(await worker.lease(), []);
    await cluster.clock.advance(46);
    await becomes(cluster, worker.id, 'dead');
    await worker.heartbeat([]);
    assert.equal(await condition(cluster, worker.id), 'drained');
    await worker.heartbeat([], 0, undefined, 'stopped');
    assert.equal(await condition(cluster, worker.id), 'stopped');
    await cluster.restart();
    await cluster.register({ worker_id: worker.id });
    assert.deepEqual(await worker.lease(), []);
    assert.deepEqual((await viewOf(cluster, worker.id))?.drained, {
      by: 'anonymous',
      at: (await viewOf(cluster, worker.id))?.drained?.at,
      takes_back_at: null,
    });
    await cluster.resume(worker.id);
    assert.equal((await worker.lease()).length, 1);
  });

  test('can be drained and resumed while it is not there', async (t) => {
    const { cluster, worker } = await withWorker(t);
    await cluster.clock.advance(46);
    await becomes(cluster, worker.id, 'dead');
    await cluster.drain(worker.id);
    await cluster.restart();
    await worker.heartbeat([]);
    assert.equal(await condition(cluster, worker.id), 'drained');
    await cluster.clock.advance(46);
    await becomes(cluster, worker.id, 'dead');
    await cluster.resume(worker.id);
    await worker.heartbeat([]);
    assert.equal(await condition(cluster, worker.id), 'alive');
  });

  test('is drained also when it dies before it has finished: with the last lease that expires', async (t) => {
    const { cluster, worker } = await withWorker(t, { slots_total: 2 });
    for (let n = 0; n < 2; n++) await cluster.submit(job({ retry: { max_attempts: 1 } }));
    await worker.lease(2);
    await cluster.drain(worker.id);
    await cluster.clock.advance(46);
    await becomes(cluster, worker.id, 'dead');
    assert.ok(!(await workerEvents(cluster)).includes('worker_drained'));
    await cluster.clock.advance(60);
    await until('the leases to expire', async () => (await workerEvents(cluster)).includes('worker_drained'));
    await cluster.drain(worker.id);
    assert.deepEqual((await workerEvents(cluster)).slice(1), [
      ...['worker_drain_ordered', 'worker_dead', 'worker_drained'],
      ...['worker_drain_ordered', 'worker_drained'],
    ]);
  });

  test('is not resumed twice, nor one that was never drained, nor one that nobody knows', async (t) => {
    const { cluster, worker } = await withWorker(t);
    await assert.rejects(cluster.resume(worker.id), refused('illegal_transition'));
    await cluster.drain(worker.id);
    await cluster.drain(worker.id);
    await cluster.resume(worker.id);
    await assert.rejects(cluster.resume(worker.id), refused('illegal_transition'));
    for (const act of ['drain', 'resume', 'remove'] as const)
      await assert.rejects(cluster[act]('worker_of_nobody'), refused('unknown_id'));
  });

  test('counts as alive: a task that avoids another worker waits for it', async (t) => {
    const cluster = await TestCluster.start(t);
    const [sick, drained] = [await cluster.register(), await cluster.register()];
    await cluster.drain(drained.id);
    const { id } = await cluster.submit();
    await sick.fail(await sick.run(), { fault: 'worker' });
    assert.equal((await cluster.onlyTask(id)).status, 'queued');
    await cluster.resume(drained.id);
    assert.equal((await drained.lease()).length, 1);
  });
});

describe('the time of a drain', () => {
  test('ends with what the worker still has queued again, for others, and no attempt is spent', async (t) => {
    const { cluster, worker } = await withWorker(
      t,
      { slots_total: 2 },
      { leaseTtl: 600, workerDeadAfter: 600 },
    );
    const jobs = [await cluster.submit(), await cluster.submit()];
    const [leased, running] = await worker.lease(2);
    assert.ok(leased && running);
    await worker.start(running);
    await cluster.drain(worker.id, 30);
    await cluster.clock.advance(29);
    assert.equal(await condition(cluster, worker.id), 'draining');
    const beat = worker.heartbeat([leased, running], 5);
    await cluster.clock.advance(2);
    assert.deepEqual((await beat).cancel_task_ids.sort(), [leased.task_id, running.task_id].sort());
    assert.equal(await condition(cluster, worker.id), 'drained');
    for (const { id } of jobs) {
      const task = await cluster.onlyTask(id);
      assert.deepEqual([task.status, task.attempt, task.max_attempts], ['queued', 1, 3]);
    }
    await assert.rejects(worker.complete(running), refused('not_holder'));
    const other = await cluster.register({ slots_total: 2 });
    assert.deepEqual(
      (await other.lease(2)).map(({ task_id, attempt }) => [task_id, attempt]),
      [leased, running].map(({ task_id }) => [task_id, 2]),
    );
  });

  test('may be none', async (t) => {
    const { cluster, id, worker } = await atWork(t);
    await cluster.drain(worker.id, 0);
    assert.equal((await cluster.onlyTask(id)).status, 'queued');
    assert.equal(await condition(cluster, worker.id), 'drained');
  });

  test('goes on, or is over, when the server is started anew', async (t) => {
    const { cluster, id, worker } = await atWork(t, undefined, { leaseTtl: 600, workerDeadAfter: 600 });
    await cluster.drain(worker.id, 30);
    await cluster.clock.advance(20);
    await cluster.restart();
    await cluster.clock.advance(9);
    assert.equal((await cluster.onlyTask(id)).status, 'running');
    await cluster.stop();
    await cluster.clock.advance(2);
    await cluster.start();
    await cluster.clock.advance(0);
    await isQueued(cluster, id);
  });

  test('is no longer than was ordered when the wall clock is set back', async (t) => {
    const { cluster, id, worker } = await atWork(t, undefined, { leaseTtl: 6000, workerDeadAfter: 6000 });
    await cluster.drain(worker.id, 30);
    await cluster.stop();
    cluster.clock.jump(-86_400);
    await cluster.start();
    await cluster.clock.advance(31);
    await isQueued(cluster, id);
  });

  test('that is over while the store is away ends when it is back, and is tried now and then, not over and over', async (t) => {
    const { cluster, id, worker } = await atWork(t, undefined, { leaseTtl: 6000, workerDeadAfter: 6000 });
    // The time in which workers could be heard is behind time as such.
    cluster.missed = 500;
    await cluster.clock.advance(500);
    await cluster.drain(worker.id, 30);
    let tries = 0;
    cluster.faults.beforeCommit = async () => {
      // One that is tried over and over comes to its end all the same.
      if (++tries < 200) throw diskFull();
    };
    let seconds = 0;
    await until('some tries', async () => {
      await cluster.clock.advance(1);
      return ++seconds >= 40 && tries > 2;
    });
    assert.ok(tries <= seconds, `${tries} in ${seconds} seconds`);
    assert.equal((await cluster.onlyTask(id)).status, 'running');
    delete cluster.faults.beforeCommit;
    await cluster.clock.advance(2);
    await isQueued(cluster, id);
    assert.equal(await condition(cluster, worker.id), 'drained');
  });

  test('ends nothing when it was lifted, and counts anew when it is ordered anew', async (t) => {
    const { cluster, id, worker } = await atWork(t, undefined, { leaseTtl: 600, workerDeadAfter: 600 });
    await cluster.drain(worker.id, 30);
    await cluster.resume(worker.id);
    await cluster.clock.advance(31);
    assert.equal((await cluster.onlyTask(id)).status, 'running');
    await cluster.drain(worker.id, 30);
    await cluster.clock.advance(20);
    await cluster.drain(worker.id, 60);
    await cluster.clock.advance(50);
    assert.equal((await cluster.onlyTask(id)).status, 'running');
    await cluster.drain(worker.id);
    await cluster.clock.advance(20);
    assert.equal((await cluster.onlyTask(id)).status, 'running');
  });

  test('takes a task that is to stop for its job to its end', async (t) => {
    const { cluster, id, worker } = await atWork(t);
    await cluster.cancel(id);
    await cluster.drain(worker.id, 0);
    assert.equal((await cluster.job(id)).status, 'cancelled');
  });
});

describe('a worker that an operator removes', () => {
  test('is known to nobody; what it had is queued again at once, and no attempt is spent', async (t) => {
    const { cluster, id, worker } = await atWork(t, job({ retry: { max_attempts: 1 } }), { leaseTtl: 600 });
    await assert.rejects(cluster.remove(worker.id), refused('illegal_transition'), 'it is alive');
    await cluster.clock.advance(46);
    await becomes(cluster, worker.id, 'dead');
    assert.equal((await cluster.onlyTask(id)).status, 'running');
    await cluster.remove(worker.id);
    assert.equal((await cluster.onlyTask(id)).status, 'queued');
    for (let round = 0; round < 2; round++) {
      assert.equal(await viewOf(cluster, worker.id), undefined);
      await assert.rejects(worker.heartbeat([]), refused('unknown_id'));
      const stats = await cluster.port.reads.stats();
      assert.deepEqual([stats.workers_alive, stats.workers_dead], [0, 0]);
      await cluster.restart();
    }
    const again = await cluster.register({ worker_id: worker.id });
    assert.notEqual(again.id, worker.id);
    assert.equal((await again.lease()).length, 1);
  });

  test('is there as before when the store cannot commit', async (t) => {
    const { cluster, worker } = await withWorker(t);
    await worker.heartbeat([], 0, undefined, 'stopped');
    cluster.fillDisk();
    await assert.rejects(cluster.remove(worker.id), refused('store_unavailable'));
    await assert.rejects(cluster.drain(worker.id), refused('store_unavailable'));
    delete cluster.faults.beforeCommit;
    await cluster.clock.advance(2);
    assert.equal(await condition(cluster, worker.id), 'stopped');
    assert.equal((await viewOf(cluster, worker.id))?.drained, null);
    await cluster.remove(worker.id);
    assert.equal(await viewOf(cluster, worker.id), undefined);
  });
});
