import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { job, TestCluster } from '../support/cluster.ts';

const HOUR = 3600;
const TEN_YEARS = 315_576_000;

describe('when the wall clock is set while tasks run', () => {
  for (const [name, seconds] of [
    ['an hour back', -HOUR],
    ['an hour forward', HOUR],
    ['ten years back', -TEN_YEARS],
    ['ten years forward', TEN_YEARS],
  ] as const) {
    test(`${name}, no lease is lost, no timeout comes early, and no worker counts as dead`, async (t) => {
      const cluster = await TestCluster.start(t, { leaseTtl: 60, workerDeadAfter: 45 });
      const submitted = await cluster.submit(job({ timeout_seconds: 600 }));
      const worker = await cluster.register();
      const task = await worker.run();
      const before = await cluster.eventTypes();
      cluster.clock.jump(seconds);
      for (let i = 0; i < 10; i++) {
        await cluster.clock.advance(20);
        await worker.heartbeat([{ task_id: task.task_id, attempt: 1 }]);
      }
      assert.deepEqual(await cluster.eventTypes(), before);
      const view = await cluster.onlyTask(submitted.id);
      assert.equal(view.status, 'running');
      // What people read follows the clock on the wall.
      assert.ok(
        Math.abs((view.lease_expires_at ?? 0) - (cluster.clock.now() + 60)) < 0.01,
        `the lease is shown to expire at ${view.lease_expires_at}`,
      );
      await worker.complete(task);
      assert.equal((await cluster.seen.job(submitted.id)).status, 'succeeded');
    });

    test(`${name}, the lease of a silent worker still expires after its time and not before`, async (t) => {
      const cluster = await TestCluster.start(t, { leaseTtl: 60 });
      const submitted = await cluster.submit();
      const worker = await cluster.register();
      await worker.run();
      await cluster.clock.advance(30);
      cluster.clock.jump(seconds);
      await cluster.clock.advance(29);
      assert.equal((await cluster.onlyTask(submitted.id)).status, 'running');
      await cluster.clock.advance(2);
      const next = await cluster.register();
      assert.equal((await next.leaseOne()).attempt, 2);
    });

    test(`${name}, the pages of jobs and events neither skip nor repeat, also over a restart`, async (t) => {
      const cluster = await TestCluster.start(t);
      const ids: string[] = [];
      for (let i = 0; i < 3; i++) ids.push((await cluster.submit()).id);
      cluster.clock.jump(seconds);
      for (let i = 0; i < 3; i++) ids.push((await cluster.submit()).id);
      await cluster.restart();
      for (let i = 0; i < 3; i++) ids.push((await cluster.submit()).id);
      assert.deepEqual((await pageJobs(cluster, 2)).reverse(), ids);
      const events = await pageEvents(cluster, 2);
      assert.deepEqual(
        events,
        ids.map((_, i) => i + 1),
      );
    });
  }
});

async function pageJobs(cluster: TestCluster, limit: number): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: number | undefined, pages = 0; pages < 100; pages++) {
    const page = await cluster.seen.jobs({
      limit,
      ...(cursor === undefined ? {} : { created_before: cursor }),
    });
    if (page.length === 0) break;
    found.push(...page.map((view) => view.id));
    cursor = page.at(-1)?.created_at;
  }
  return found;
}

async function pageEvents(cluster: TestCluster, limit: number): Promise<number[]> {
  const found: number[] = [];
  for (let pages = 0; pages < 100; pages++) {
    const page = await cluster.seen.events({ after_id: found.at(-1) ?? 0, limit });
    if (page.length === 0) break;
    found.push(...page.map((event) => event.id));
  }
  return found;
}
