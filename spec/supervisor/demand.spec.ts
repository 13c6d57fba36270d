import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RIGHTS } from '../../machines/protocol/rights.ts';
import { job, TestCluster, withJob, withWorker } from '../support/cluster.ts';
import { sweep } from '../support/job.ts';
import { textOf } from '../support/views.ts';

const principal = (name: string) => ({ name, rights: RIGHTS });

const demandOf = (cluster: TestCluster) => cluster.port.reads.demand();

/** What is wanted: slots and requirement in words. */
const wantedOf = async (cluster: TestCluster) =>
  (await demandOf(cluster)).groups.map(({ slots_wanted, requirement }) => [slots_wanted, requirement]);

describe('what is wanted of workers', () => {
  test('is told by requirement, whoever asks it, in the order in which it is served', async (t) => {
    const cluster = await TestCluster.start(t);
    await cluster.submit(sweep(3), principal('ann'));
    await cluster.submit(sweep(2), principal('bob'));
    await cluster.submit(
      job({ requirements: { min_memory_gb: 64, min_gpu_count: 1, labels: { site: 'b' } } }),
    );
    await cluster.submit(job({ type: 'other.run', priority: 5 }));
    const { groups, slots_wanted, groups_left_out } = await demandOf(cluster);
    assert.deepEqual(
      groups.map((group) => [group.slots_wanted, group.requirement, group.types]),
      [
        [1, 'packages.other', ['other.run']],
        [5, 'packages.demo', ['demo.run']],
        [1, 'packages.demo, labels.site=b, min_memory_gb=64, min_gpu_count=1', ['demo.run']],
      ],
    );
    assert.deepEqual(groups[2]?.requirements, {
      packages: { demo: '' },
      labels: { site: 'b' },
      min_memory_gb: 64,
      min_gpu_count: 1,
    });
    assert.deepEqual([slots_wanted, groups_left_out], [7, 0]);
  });

  test('has beside it who could run it, and what of it is under way', async (t) => {
    const { cluster, worker } = await withJob(t, sweep(5), undefined, { slots_total: 3 });
    const drained = await cluster.register({ slots_total: 8 });
    const suspended = await cluster.register({ slots_total: 8 });
    await cluster.register({ slots_total: 8, version: { packages: { other: '1' } } });
    await cluster.drain(drained.id);
    await suspended.heartbeat([], 0, 'its disk is full');
    await worker.run();
    const [group] = (await demandOf(cluster)).groups;
    assert.ok(group);
    const { slots_wanted, tasks_held, workers, slots_total, slots_free } = group;
    assert.deepEqual(
      { slots_wanted, tasks_held, workers, slots_total, slots_free },
      { slots_wanted: 4, tasks_held: 1, workers: 1, slots_total: 3, slots_free: 2 },
    );
  });

  test('leaves out what would not be leased: paused, after a failure, beyond the limit of an owner', async (t) => {
    const { cluster, worker } = await withWorker(t, { slots_total: 2 }, { maxRunningPerOwner: 3 });
    await cluster.submit(job({ retry: { max_attempts: 5, backoff_seconds: 20 } }), principal('eve'));
    await worker.fail(await worker.run());
    await cluster.submit(sweep(9), principal('ann'));
    await worker.run();
    await cluster.submit(sweep(2, { type: 'other.run' }), principal('bob'));
    await cluster.submit(sweep(4, { type: 'third.run' }), principal('ann'));
    await cluster.pause('type', 'other.run');
    assert.deepEqual(await wantedOf(cluster), [[2, 'packages.demo']]);
    const { held_back, slots_wanted } = await demandOf(cluster);
    assert.deepEqual(held_back, { paused: 2, owner_limit: 10, backoff: 1 });
    assert.equal(slots_wanted, 2);
    await cluster.unpause('type', 'other.run');
    assert.deepEqual(await wantedOf(cluster), [
      [2, 'packages.demo'],
      [2, 'packages.other'],
    ]);
    await cluster.clock.advance(20);
    assert.equal((await demandOf(cluster)).slots_wanted, 5);
  });

  test('says how long its tasks may take, and tells those apart that may take longer', async (t) => {
    const cluster = await TestCluster.start(t);
    await cluster.submit(sweep(2, { timeout_seconds: 60, requirements: { labels: { queue: 'short' } } }));
    await cluster.submit(sweep(3, { requirements: { labels: { queue: 'any' } } }));
    const times = async () =>
      (await demandOf(cluster)).groups.map(({ seconds, slots_wanted }) => [seconds, slots_wanted]);
    assert.deepEqual(await times(), [
      [60, 2],
      [null, 3],
    ]);
    const worker = await cluster.register({ version: { packages: { demo: '1' } }, labels: { queue: 'any' } });
    const task = await worker.run();
    await cluster.clock.advance(40);
    await worker.complete(task);
    assert.deepEqual(await times(), [
      [60, 2],
      [40, 2],
    ]);
  });

  test('leaves out a worker that has stopped, as does the list of those that are alive', async (t) => {
    const cluster = await TestCluster.start(t);
    const gone = await cluster.register();
    const here = await cluster.register();
    await gone.heartbeat([], 0, undefined, 'stopped');
    const alive = JSON.parse(await textOf(cluster.port.reads.workers('alive'))) as { id: string }[];
    assert.deepEqual(
      alive.map(({ id }) => id),
      [here.id],
    );
    assert.equal(JSON.parse(await textOf(cluster.port.reads.workers())).length, 2);
    await cluster.submit();
    assert.equal((await demandOf(cluster)).groups[0]?.workers, 1);
  });

  test('is bounded: what is served last is left out, and counted', async (t) => {
    const cluster = await TestCluster.start(t);
    for (let i = 0; i < 103; i++)
      await cluster.submit(
        job({ requirements: { labels: { box: String(i) } }, priority: i === 102 ? 1 : 0 }),
      );
    const { groups, groups_left_out, slots_wanted } = await demandOf(cluster);
    assert.equal(groups.length, 100);
    assert.deepEqual([groups_left_out, slots_wanted], [3, 103]);
    assert.equal(groups[0]?.requirement, 'packages.demo, labels.box=102');
    assert.equal(groups.at(-1)?.requirement, 'packages.demo, labels.box=98');
  });

  test('is nothing where nothing is queued, and is the same after a restart', async (t) => {
    const cluster = await TestCluster.start(t);
    assert.deepEqual(await demandOf(cluster), {
      groups: [],
      groups_left_out: 0,
      slots_wanted: 0,
      held_back: { paused: 0, owner_limit: 0, backoff: 0 },
    });
    await cluster.submit(sweep(3));
    const before = await demandOf(cluster);
    await cluster.restart();
    assert.deepEqual(await demandOf(cluster), before);
  });

  test('reads one row for each requirement, however many tasks ask it', async (t) => {
    const cluster = await TestCluster.start(t, { share: 'fifo' });
    const read: number[] = [];
    for (const count of [10, 2000]) {
      await cluster.submit(sweep(count));
      const { groups } = await demandOf(cluster);
      read.push(groups.length);
    }
    assert.deepEqual(read, [1, 1]);
    assert.deepEqual(await wantedOf(cluster), [[2010, 'packages.demo']]);
  });
});
