import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LeasedTask } from '../../gateway/messages.ts';
import { job, jobIdOf, TestCluster } from '../support/cluster.ts';
import type { TestWorker } from '../support/test-worker.ts';

const MIB = 1024 * 1024;
const large = (name: string, mib: number, more: object = {}) =>
  job({ name, params: { text: 'x'.repeat(mib * MIB) }, ...more });

const namesOf = async (cluster: TestCluster, leased: readonly LeasedTask[]) => {
  const jobs = leased.map(jobIdOf);
  return Promise.all(jobs.map(async (id) => (await cluster.job(id)).name));
};

/** Leases as the gateway does, which says when the worker has read what it got. */
const ask = async ({ cluster, id, principal }: TestWorker, wait_s: number) =>
  cluster.port.send({ type: 'lease', principal, worker_id: id, wait_s, max_tasks: 1 });

describe('the answer to one request for work', () => {
  test('is bounded in size: large tasks beyond the bound stay queued for the next request, in their order', async (t) => {
    const cluster = await TestCluster.start(t);
    for (const name of ['a', 'b', 'c', 'd']) await cluster.submit(large(name, 6));
    await cluster.submit(job({ name: 'small' }));
    const worker = await cluster.register({ slots_total: 100 });
    assert.deepEqual(await namesOf(cluster, await worker.lease(100)), ['a', 'b']);
    assert.equal((await cluster.port.reads.stats()).tasks_by_status.queued, 3);
    assert.deepEqual(await namesOf(cluster, await worker.lease(100)), ['c', 'd', 'small']);
  });

  test('holds at least one task, however large', async (t) => {
    const cluster = await TestCluster.start(t);
    await cluster.submit(large('huge', 20));
    await cluster.submit(job({ name: 'small' }));
    const worker = await cluster.register({ slots_total: 100 });
    assert.deepEqual(await namesOf(cluster, await worker.lease(100)), ['huge']);
    assert.deepEqual(await namesOf(cluster, await worker.lease(100)), ['small']);
  });

  test('goes to each worker that waits, also where the specifications are read in several turns', async (t) => {
    const cluster = await TestCluster.start(t);
    const workers = await Promise.all(Array.from({ length: 6 }, () => cluster.register()));
    const waiting = workers.map((worker) => worker.lease(1, 20));
    await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => cluster.submit(large(name, 6))));
    // A restart forgets what was submitted; these are read from the store.
    assert.equal((await Promise.all(waiting)).flat().length, 6);
    await cluster.restart();
    await Promise.all(['g', 'h', 'i', 'j', 'k', 'l'].map((name) => cluster.submit(large(name, 6))));
    await cluster.restart();
    const others = await Promise.all(Array.from({ length: 6 }, () => cluster.register()));
    const leased = (await Promise.all(others.map((worker) => worker.lease()))).flat();
    assert.deepEqual((await namesOf(cluster, leased)).sort(), ['g', 'h', 'i', 'j', 'k', 'l']);
  });
});

describe('large tasks that are on their way to their workers', () => {
  test('are bounded together: other large tasks wait until these have been read, small ones do not', async (t) => {
    const cluster = await TestCluster.start(t);
    const labels = { disk: 'ssd' };
    const asked = { requirements: { labels } };
    for (let i = 0; i < 6; i++) await cluster.submit(large(`large ${i}`, 15, asked));
    const workers = await Promise.all(Array.from({ length: 6 }, () => cluster.register({ labels })));
    const given: (() => void)[] = [];
    for (const worker of workers.slice(0, 4)) {
      const { tasks, handedOut } = await ask(worker, 20);
      assert.equal(tasks.length, 1);
      given.push(handedOut as () => void);
    }
    const [fifth, sixth] = workers.slice(4).map((worker) => ask(worker, 20));
    let answered = false;
    fifth?.then(() => {
      answered = true;
    });
    await cluster.submit(job({ name: 'small' }));
    const other = await cluster.register();
    const [small] = await other.lease();
    assert.deepEqual(await namesOf(cluster, [small as LeasedTask]), ['small']);
    assert.equal(answered, false);
    given[0]?.();
    assert.equal((await fifth)?.tasks.length, 1);
    given[1]?.();
    assert.equal((await sixth)?.tasks.length, 1);
  });

  test('take no room when the store refuses the lease', async (t) => {
    const cluster = await TestCluster.start(t);
    for (let i = 0; i < 8; i++) await cluster.submit(large(`large ${i}`, 15));
    const worker = await cluster.register({ slots_total: 8 });
    for (let i = 0; i < 6; i++) {
      cluster.fillDisk();
      await assert.rejects(ask(worker, 0), { code: 'store_unavailable' });
      cluster.freeDisk();
      // Another commit shows that the store works again.
      await cluster.submit(large(`small ${i}`, 0));
    }
    for (let i = 0; i < 4; i++) assert.equal((await worker.lease()).length, 1);
  });
});
