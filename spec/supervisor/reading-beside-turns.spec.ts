import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as tick } from 'node:timers/promises';
import type { LeasedTask } from '../../gateway/messages.ts';
import { job, TestCluster } from '../support/cluster.ts';
import { holdCommits } from '../support/hold-commits.ts';
import type { TestWorker } from '../support/test-worker.ts';

describe('a read while a turn is being written shows nothing of that turn, which may be rolled back', () => {
  interface Scene {
    cluster: TestCluster;
    worker: TestWorker;
    other: TestWorker;
    task: LeasedTask;
  }
  const turns: Record<string, (scene: Scene) => Promise<unknown>> = {
    'a worker that suspends itself': ({ other }) => other.heartbeat([], 0, 'no room left'),
    'a worker that is leaving': ({ other }) => other.heartbeat([], 0, undefined, 'draining'),
    'a worker that is new': ({ cluster }) => cluster.register(),
    'a worker that declares something else': ({ cluster, other }) =>
      cluster.register({ worker_id: other.id, version: {} }),
    'a worker that falls silent': ({ cluster }) => cluster.clock.advance(26),
    'a worker that has no slot left': ({ other }) => other.lease(1, 30),
    'a worker that lacks a path': ({ worker, task }) =>
      worker.fail(task, { fault: 'worker', missing_path: '/data/x' }),
    'a worker that is drained': ({ cluster, other }) => cluster.drain(other.id),
    'a queue that is paused': ({ cluster }) => cluster.pause('all'),
    'a lease that is granted again': ({ worker, task }) => {
      void worker.lease(1, 30).catch(() => {});
      return worker.fail(task);
    },
  };
  for (const [what, act] of Object.entries(turns)) {
    test(what, async (t) => {
      const cluster = await TestCluster.start(t, { leaseTtl: 600, workerDeadAfter: 45 });
      const retried = await cluster.submit(job({ retry: { max_attempts: 2 }, priority: 1 }));
      const worker = await cluster.register();
      const task = await worker.run();
      const other = await cluster.register();
      const away = { requirements: { labels: { site: 'elsewhere' } } };
      const jobs = [retried, await cluster.submit(job()), await cluster.submit(job(away))];
      await cluster.clock.advance(20);
      const read = async () => ({
        tasks: await Promise.all(jobs.map(({ id }) => cluster.tasks(id))),
        workers: await cluster.seen.workers(),
        stats: await cluster.port.reads.stats(),
      });
      const before = await read();
      const hold = holdCommits(cluster, 'beforeCommit');
      act({ cluster, worker, other, task }).catch(() => {});
      await hold.first;
      const meanwhile = await read();
      hold.fail('SQLITE_FULL');
      assert.deepEqual(meanwhile, before);
      while (cluster.state !== 'degraded') await tick();
      assert.deepEqual((await read()).tasks, before.tasks);
    });
  }
});
