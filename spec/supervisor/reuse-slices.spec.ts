import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type TestCluster, withWorker } from '../support/cluster.ts';
import { diskFull } from '../support/full-disk.ts';
import { complete, inline, known } from './reuse-support.ts';

describe('a job whose tasks are looked up for reuse, slice by slice', () => {
  const MANY = 7;
  const many = (differs: object = {}) =>
    known({ pipeline: undefined, pipelines: Array.from({ length: MANY }, (_, i) => inline(i)), ...differs });

  async function before(t: TestContext) {
    const { cluster, worker } = await withWorker(t, { slots_total: 20 }, { sliceSize: 2 });
    await cluster.submit(many());
    for (const lease of await worker.lease(20)) await complete(worker, lease);
    return { cluster, worker };
  }

  /** Every commit from now on fails but for so many. */
  const failAfter = (cluster: TestCluster, passing: number) => {
    let left = passing;
    cluster.faults.beforeCommit = async () => {
      if (left-- <= 0) throw diskFull();
    };
  };

  for (const commits of [1, 2, 3]) {
    test(`goes on when the server went down after commit ${commits}`, async (t) => {
      const { cluster } = await before(t);
      failAfter(cluster, commits);
      // Certain from the first commit on, it is answered although it is not done.
      const { id } = await cluster.submit(many({ reuse: true }));
      await cluster.restart();
      const [queued] = await cluster.seen.jobs({ limit: 1 });
      assert.deepEqual([queued?.id, queued?.status], [id, 'queued']);
      delete cluster.faults.beforeCommit;
      await cluster.restart();
      for (let job = await cluster.job(id); job.status !== 'succeeded'; job = await cluster.job(id)) {
        assert.equal(job.status, 'queued');
        await cluster.clock.advance(0.1);
      }
      assert.equal((await cluster.job(id)).aggregate.num_reused, MANY);
      const types = await cluster.eventTypes(id);
      assert.equal(types.filter((type) => type === 'task_reused').length, MANY);
    });
  }

  test('that is cancelled meanwhile keeps the tasks that were answered and cancels the others', async (t) => {
    const { cluster, worker } = await before(t);
    let cancelled: Promise<unknown> | undefined;
    let commits = 0;
    cluster.faults.afterCommit = async () => {
      const [job] = await cluster.seen.jobs({ limit: 1 });
      if (++commits === 2 && job) cancelled = cluster.cancel(job.id);
    };
    const { id } = await cluster.submit(many({ reuse: true }));
    await cancelled;
    const { status, aggregate } = await cluster.job(id);
    assert.equal(status, 'cancelled');
    assert.ok(aggregate.num_reused > 0 && aggregate.num_cancelled > 0);
    assert.equal(aggregate.num_reused + aggregate.num_cancelled, MANY);
    assert.deepEqual(await worker.lease(20), []);
  });

  test('leases none of its new tasks before the last one was looked up', async (t) => {
    const { cluster, worker } = await before(t);
    const waiting = worker.lease(20, 30);
    const pipelines = Array.from({ length: MANY + 3 }, (_, i) => inline(MANY + 2 - i));
    const { id } = await cluster.submit(many({ pipelines, reuse: true }));
    const leased = await waiting;
    assert.equal(leased.length, 3);
    const types = await cluster.eventTypes(id);
    assert.ok(types.lastIndexOf('task_reused') < types.indexOf('task_leased'), types.join());
  });
});
