import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atWork, job, jobIdOf, TestCluster, withJob } from '../support/cluster.ts';
import { until } from '../support/until.ts';

const patient = (backoff_seconds = 10, max_attempts = 5) => job({ retry: { max_attempts, backoff_seconds } });

describe('a task that failed and has to wait', () => {
  test('is leased only after its delay, which doubles with each failure', async (t) => {
    const { cluster, id, worker } = await withJob(t, patient());
    let task = await worker.leaseOne();
    for (const seconds of [10, 20, 40]) {
      await worker.fail(task);
      const { not_before, waiting_for } = await cluster.onlyTask(id);
      assert.equal(not_before, cluster.clock.now() + seconds);
      assert.deepEqual(waiting_for, [{ requirement: 'backoff', workers_missing: 1 }]);
      await cluster.clock.advance(seconds - 1);
      assert.deepEqual(await worker.lease(), []);
      const waiting = worker.lease(1, 30);
      await cluster.clock.advance(1);
      const [leased] = await waiting;
      assert.ok(leased, 'a request that waits is answered at that moment');
      assert.equal((await cluster.onlyTask(id)).not_before, null);
      task = leased;
    }
  });

  test('lets other tasks go first while it waits, and then takes its old place in the queue', async (t) => {
    const cluster = await TestCluster.start(t);
    const [first, second, third] = [
      await cluster.submit(patient()),
      await cluster.submit(),
      await cluster.submit(),
    ];
    const worker = await cluster.register();
    const next = async () => {
      const task = await worker.run();
      await worker.complete(task);
      return jobIdOf(task);
    };
    await worker.fail(await worker.run());
    assert.equal(await next(), second.id);
    await cluster.clock.advance(10);
    assert.deepEqual([await next(), await next()], [first.id, third.id]);
  });

  test('waits only for the rest of its delay after a restart', async (t) => {
    const { cluster, worker } = await withJob(t, patient());
    await worker.fail(await worker.run());
    await cluster.clock.advance(4);
    await cluster.restart();
    await cluster.clock.advance(5);
    assert.deepEqual(await worker.lease(), []);
    await cluster.clock.advance(1);
    assert.equal((await worker.lease()).length, 1);
  });

  test('is leased at once if its delay ended while the server was away', async (t) => {
    const { cluster, worker } = await withJob(t, patient());
    await worker.fail(await worker.run());
    await cluster.stop();
    cluster.clock.jump(11);
    await cluster.start();
    assert.equal((await worker.lease()).length, 1);
  });

  test('waits ten minutes at most, should the wall clock be set back while the server is away', async (t) => {
    const { cluster, worker } = await withJob(t, patient());
    await worker.fail(await worker.run());
    await cluster.stop();
    cluster.clock.jump(-86_400);
    await cluster.start();
    assert.deepEqual(await worker.lease(), []);
    await cluster.clock.advance(600);
    assert.equal((await worker.lease()).length, 1);
  });

  test('waits as long as ever when the wall clock jumps', async (t) => {
    const { cluster, worker } = await withJob(t, patient());
    await worker.fail(await worker.run());
    cluster.clock.jump(86_400);
    assert.deepEqual(await worker.lease(), []);
    cluster.clock.jump(-2 * 86_400);
    await cluster.clock.advance(10);
    assert.equal((await worker.lease()).length, 1);
  });

  test('waits no longer although the server has stalled before', async (t) => {
    const { cluster, worker } = await withJob(t, patient());
    cluster.missed += 3600;
    await worker.fail(await worker.run());
    await cluster.clock.advance(9);
    assert.deepEqual(await worker.lease(), []);
    await cluster.clock.advance(1);
    assert.equal((await worker.lease()).length, 1);
  });

  test('does not wait again, once due, when a worker lacks its path and the wall clock was set back', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit(patient());
    const [worker, without] = [await cluster.register(), await cluster.register()];
    await worker.fail(await worker.run());
    await cluster.clock.advance(10);
    cluster.clock.jump(-3600);
    await cluster.submit(job({ priority: 1 }));
    await without.fail(await without.run(), { fault: 'worker', missing_path: '/data/x' });
    assert.deepEqual(await without.lease(), []);
    await worker.complete(await worker.run());
    const { payload } = await worker.leaseOne();
    assert.equal((payload.parse() as { job_id: string }).job_id, id);
  });

  test('can be cancelled while it waits', async (t) => {
    const { cluster, id, worker } = await withJob(t, patient());
    await worker.fail(await worker.run());
    await cluster.cancel(id);
    assert.equal((await cluster.job(id)).status, 'cancelled');
    await cluster.clock.advance(60);
    assert.deepEqual(await worker.lease(), []);
    assert.equal((await cluster.onlyTask(id)).not_before, null);
  });

  test('waits after a timeout that the server enforces, not after a lease that expired', async (t) => {
    const { cluster, id, worker } = await atWork(
      t,
      { ...patient(), timeout_seconds: 5 },
      { timeoutGrace: 0 },
    );
    await cluster.clock.advance(6);
    const stands = async (id: string) => (await cluster.onlyTask(id)).status === 'queued';
    await until('the timeout', () => stands(id));
    assert.notEqual((await cluster.onlyTask(id)).not_before, null);
    await cluster.cancel(id);
    const lost = await cluster.submit(patient());
    await worker.run();
    await cluster.clock.advance(61);
    await until('the expiry', () => stands(lost.id));
    assert.equal((await cluster.onlyTask(lost.id)).not_before, null);
  });

  test('keeps its place when the lease that was granted at the end of its delay cannot be committed', async (t) => {
    const { cluster, id, worker } = await withJob(t, patient());
    await worker.fail(await worker.run());
    cluster.fillDisk();
    const waiting = assert.rejects(worker.lease(1, 20), { code: 'store_unavailable' });
    await cluster.clock.advance(11);
    await waiting;
    cluster.freeDisk();
    await cluster.clock.advance(2);
    assert.equal((await cluster.onlyTask(id)).status, 'queued');
    assert.equal((await worker.lease()).length, 1);
  });
});
