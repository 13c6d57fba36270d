import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { job, jobIdOf, TestCluster } from '../support/cluster.ts';
import { sweep } from '../support/job.ts';
import type { TestWorker } from '../support/test-worker.ts';

/** A worker that can run tasks for so many seconds more. */
const ending = (cluster: TestCluster, seconds: number, differs = {}) =>
  cluster.register({ capabilities: { ends_at: cluster.clock.now() + seconds }, ...differs });

const leased = async (worker: TestWorker, count = 1) => (await worker.lease(count)).map(jobIdOf);

const waits = async (cluster: TestCluster, id: string) =>
  (await cluster.seen.tasks(id)).find(({ status }) => status === 'queued')?.waiting_for;

/** The tasks of a job take so long; what is left of it is queued. */
async function runFor(cluster: TestCluster, worker: TestWorker, ...seconds: number[]): Promise<void> {
  for (const each of seconds) {
    const task = await worker.run();
    await cluster.clock.advance(each);
    await worker.complete(task);
  }
}

describe('a worker that knows its end', () => {
  test('is given no task whose time limit is longer than what is left, but those behind that are not', async (t) => {
    const cluster = await TestCluster.start(t);
    const long = await cluster.submit(job({ timeout_seconds: 601 }));
    const short = await cluster.submit(job({ timeout_seconds: 600 }));
    const unknown = await cluster.submit();
    const worker = await ending(cluster, 600, { slots_total: 3 });
    assert.deepEqual(await leased(worker, 3), [short.id, unknown.id]);
    assert.deepEqual(await waits(cluster, long.id), [{ requirement: 'ends_too_early', workers_missing: 1 }]);
    assert.deepEqual(await leased(await cluster.register()), [long.id]);
  });

  test('is given less and less as time passes, and nothing at all once its time is over', async (t) => {
    const cluster = await TestCluster.start(t);
    const worker = await ending(cluster, 40);
    await cluster.submit(job({ timeout_seconds: 20 }));
    const unknown = await cluster.submit();
    await cluster.clock.advance(21);
    assert.deepEqual(await leased(worker), [unknown.id]);
    await cluster.submit();
    const late = await ending(cluster, 10);
    await cluster.clock.advance(10);
    assert.deepEqual(await leased(late), []);
  });

  test('goes by the median of what has ended of the job, where there is no limit', async (t) => {
    const cluster = await TestCluster.start(t);
    const endless = await cluster.register();
    const { id } = await cluster.submit(sweep(10));
    // One that took long for once says little.
    await runFor(cluster, endless, 4, 5, 40);
    const later = await cluster.submit();
    assert.deepEqual(await leased(await ending(cluster, 4.9)), [later.id]);
    assert.deepEqual(await waits(cluster, id), [{ requirement: 'ends_too_early', workers_missing: 1 }]);
    assert.deepEqual(await leased(await ending(cluster, 5.1)), [id]);
  });

  test('that waits is given a task as soon as the median has become short enough', async (t) => {
    const cluster = await TestCluster.start(t);
    const endless = await cluster.register();
    const { id } = await cluster.submit(sweep(5));
    await runFor(cluster, endless, 20);
    const [task] = [await endless.run()];
    const worker = await ending(cluster, 14);
    const asked = worker.lease(1, 30);
    await cluster.clock.advance(2);
    await endless.complete(task);
    assert.deepEqual((await asked).map(jobIdOf), [id], 'twenty and two seconds have eleven as their median');
  });

  test('knows all of that after a restart of the server, too', async (t) => {
    const cluster = await TestCluster.start(t);
    const endless = await cluster.register();
    const timed = await cluster.submit(sweep(4));
    await runFor(cluster, endless, 30, 30);
    const limited = await cluster.submit(sweep(2, { timeout_seconds: 100 }));
    const other = await cluster.submit();
    const [short, long] = [await ending(cluster, 29), await ending(cluster, 99)];
    await cluster.restart();
    assert.deepEqual(await leased(short, 2), [other.id]);
    assert.deepEqual(await waits(cluster, limited.id), [
      { requirement: 'ends_too_early', workers_missing: 2 },
    ]);
    assert.deepEqual(await leased(long), [timed.id]);
    assert.deepEqual(await leased(endless), [timed.id], 'others are given all of it, in its order');
    assert.deepEqual(await leased(await cluster.register({ slots_total: 3 }), 3), [limited.id, limited.id]);
  });

  test('is held to its end whoever takes turns, what is paused, and where tasks avoid workers', async (t) => {
    for (const share of ['owner', 'job'] as const) {
      const cluster = await TestCluster.start(t, { share });
      const [sick, endless] = [await cluster.register(), await cluster.register()];
      const { id } = await cluster.submit(job({ timeout_seconds: 500 }));
      await sick.fail(await sick.run(), { fault: 'worker' });
      const avoided = await ending(cluster, 499);
      assert.deepEqual(await leased(avoided), [], share);
      const many = await cluster.submit(sweep(3));
      await cluster.pause('all');
      assert.deepEqual(await leased(avoided), [], share);
      await cluster.unpause('all');
      assert.deepEqual(await leased(avoided), [many.id], share);
      assert.deepEqual(await leased(endless), [id], share);
    }
  });

  test('can have another end when it registers again', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit(job({ timeout_seconds: 100 }));
    const worker = await ending(cluster, 50);
    assert.deepEqual(await leased(worker), []);
    await ending(cluster, 150, { worker_id: worker.id });
    assert.deepEqual(await leased(worker), [id]);
  });

  test('is not counted among those that have a slot for what takes longer', async (t) => {
    const cluster = await TestCluster.start(t);
    await ending(cluster, 50, { slots_total: 2 });
    await cluster.submit(job({ timeout_seconds: 100 }));
    await cluster.submit(job({ timeout_seconds: 10 }));
    const { groups } = await cluster.port.reads.demand();
    assert.deepEqual(
      groups.map(({ seconds, slots_free }) => [seconds, slots_free]),
      [
        [100, 0],
        [10, 2],
      ],
    );
  });
});
