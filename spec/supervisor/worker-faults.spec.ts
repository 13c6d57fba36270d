import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { job, jobIdOf, TestCluster } from '../support/cluster.ts';
import { sweep } from '../support/job.ts';
import type { TestWorker } from '../support/test-worker.ts';
import { until } from '../support/until.ts';

const ILL = { error: 'the disk of this worker is full', fault: 'worker' } as const;
const LACKS = {
  error: "no file '/data/x' on this machine",
  fault: 'worker',
  missing_path: '/data/x',
} as const;

const manyTasks = (count: number) => sweep(count, { dataset: { kind: 'shared_path', path: '/data/x' } });

const failOn = async (worker: TestWorker, failure = {}) =>
  worker.fail(await worker.run(), { ...ILL, ...failure });

const waits = async (cluster: TestCluster, jobId: string) =>
  Object.fromEntries(
    (await cluster.onlyTask(jobId)).waiting_for.map((entry) => [entry.requirement, entry.workers_missing]),
  );

describe('a failure that is the fault of the worker', () => {
  test('costs no attempt, and the task goes to another worker, never back to the same', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit(job({ retry: { max_attempts: 1 } }));
    const [sick, well] = [await cluster.register(), await cluster.register()];
    assert.deepEqual(await failOn(sick), { ok: true, requeued: true });
    assert.deepEqual(await sick.lease(), []);
    const waiting = await cluster.onlyTask(id);
    assert.deepEqual(waiting.waiting_for, [{ requirement: 'worker_fault', workers_missing: 1 }]);
    assert.equal(waiting.error, ILL.error);
    const again = await well.run();
    assert.equal(again.attempt, 2, 'the attempt goes on, since it fences');
    await assert.rejects(sick.complete({ ...again, attempt: 1 }), { code: 'stale_attempt' });
    await well.complete(again);
    const done = await cluster.onlyTask(id);
    assert.deepEqual([done.status, done.attempt, done.max_attempts], ['succeeded', 2, 2]);
    const events = await cluster.seen.events({ job_id: id, after_id: 0, limit: 100 });
    const failed = events.find((event) => event.type === 'task_failed');
    assert.deepEqual([failed?.data.fault, failed?.data.requeued], ['worker', true]);
  });

  test('fails the task with that error where no other live worker is eligible', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit(job({ retry: { max_attempts: 5 } }));
    const sick = await cluster.register();
    await cluster.register({ version: { packages: { other: '1' } } });
    assert.deepEqual(await failOn(sick), { ok: true, requeued: false });
    assert.equal((await cluster.job(id)).status, 'failed');
    assert.equal((await cluster.onlyTask(id)).error, ILL.error);
  });

  test('is not repeated on the same worker: each gets the task once, then the task fails', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit(job({ retry: { max_attempts: 1 } }));
    const workers = [await cluster.register(), await cluster.register(), await cluster.register()];
    const answers = [];
    for (const worker of workers) answers.push((await failOn(worker)).requeued);
    assert.deepEqual(answers, [true, true, false]);
    assert.equal((await cluster.onlyTask(id)).attempt, 3);
  });

  test('is one only where the report says so: after a failure of the input, or a final one, no other worker gets the task', async (t) => {
    const cluster = await TestCluster.start(t);
    const [one] = [await cluster.register(), await cluster.register()];
    for (const [failure, status, max] of [
      [{ fault: 'input', retriable: false }, 'failed', 2],
      [{ fault: 'input' }, 'queued', 2],
      [{ fault: 'worker', retriable: false }, 'failed', 2],
      [{ fault: 'task', missing_path: '/data/x' }, 'queued', 2],
    ] as const) {
      const { id } = await cluster.submit();
      await failOn(one, failure);
      const { status: is, max_attempts } = await cluster.onlyTask(id);
      assert.deepEqual([is, max_attempts], [status, max], JSON.stringify(failure));
      await cluster.cancel(id);
    }
  });

  test('is remembered across a restart', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit();
    const [sick, well] = [await cluster.register(), await cluster.register()];
    await failOn(sick);
    await cluster.restart();
    assert.deepEqual(await sick.lease(), []);
    assert.deepEqual(await waits(cluster, id), { worker_fault: 1 });
    assert.equal((await well.lease()).length, 1);
  });

  test('is forgotten once the worker registers anew, since it may have been mended', async (t) => {
    const cluster = await TestCluster.start(t);
    await cluster.submit();
    const [sick] = [await cluster.register(), await cluster.register()];
    await failOn(sick);
    await cluster.register({ worker_id: sick.id });
    assert.equal((await sick.lease()).length, 1);
  });

  test('fails the task when the last worker that could still run it dies, or no longer declares what it takes', async (t) => {
    const cluster = await TestCluster.start(t);
    const [sick, well] = [await cluster.register(), await cluster.register()];
    const first = await cluster.submit();
    await failOn(sick);
    await cluster.clock.advance(30);
    await sick.heartbeat();
    await cluster.clock.advance(20);
    await sick.heartbeat();
    const failed = await cluster.onlyTask(first.id);
    assert.deepEqual([failed.status, failed.error], ['failed', ILL.error]);
    assert.equal((await cluster.job(first.id)).status, 'failed');

    await cluster.register({ worker_id: well.id });
    const second = await cluster.submit();
    await failOn(sick);
    assert.equal((await cluster.onlyTask(second.id)).status, 'queued');
    await cluster.register({ worker_id: well.id, version: { packages: { other: '1' } } });
    assert.equal((await cluster.onlyTask(second.id)).status, 'failed');
  });

  test('leaves the order of the queue alone', async (t) => {
    const cluster = await TestCluster.start(t);
    const [first, second] = [await cluster.submit(), await cluster.submit()];
    const [sick, well] = [await cluster.register(), await cluster.register({ slots_total: 2 })];
    await failOn(sick);
    const order = (await well.lease(2)).map(jobIdOf);
    assert.deepEqual(order, [first.id, second.id]);
  });

  test('leaves no trace when the store refuses it', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit();
    const [sick] = [await cluster.register(), await cluster.register()];
    const task = await sick.run();
    cluster.fillDisk();
    const refused = assert.rejects(sick.fail(task, LACKS), { code: 'store_unavailable' });
    for (let i = 0; i < 40; i++) await cluster.clock.advance(1);
    await refused;
    cluster.freeDisk();
    await cluster.clock.advance(1);
    await sick.heartbeat();
    const after = await cluster.onlyTask(id);
    assert.deepEqual([after.status, after.max_attempts], ['running', 2]);
    const other = await cluster.submit();
    assert.deepEqual(await waits(cluster, other.id), {}, 'no path is taken for missing');
  });
});

describe('a path that a worker reports as missing', () => {
  test('keeps the worker from other tasks that name it, of any job, and from no others', async (t) => {
    const cluster = await TestCluster.start(t);
    const [without, other] = [
      await cluster.register({ slots_total: 9 }),
      await cluster.register({ slots_total: 9 }),
    ];
    await cluster.submit();
    await failOn(without, LACKS);
    const same = await cluster.submit();
    const asPipeline = await cluster
      .submit(
        job({ pipeline: { kind: 'path', path: '/data/x' }, dataset: { kind: 'artifact', artifact_id: 'a' } }),
      )
      .catch(() => null);
    assert.equal(asPipeline, null, 'the artifact does not exist');
    const local = await cluster.submit(job({ dataset: { kind: 'worker_local', path: '/data/x' } }));
    const elsewhere = await cluster.submit(job({ dataset: { kind: 'shared_path', path: '/data/y' } }));
    const leased = (await without.lease(9)).map(jobIdOf);
    assert.deepEqual(leased, [elsewhere.id]);
    assert.deepEqual(await waits(cluster, same.id), { 'path=/data/x': 1 });
    assert.deepEqual(await waits(cluster, local.id), { 'path=/data/x': 1 });
    assert.equal((await other.lease(9)).length, 3);
  });

  test('is looked for again after ten minutes, by a worker that registers anew, and by a person who retries', async (t) => {
    const cluster = await TestCluster.start(t);
    const again: [string, (without: TestWorker, failed: string) => Promise<unknown>][] = [
      [
        'ten minutes',
        async (without) => {
          // In which the server may have stood still.
          cluster.missed += 3600;
          for (let s = 0; s < 600; s += 30) {
            await cluster.clock.advance(30);
            await without.heartbeat();
          }
        },
      ],
      [
        'a registration',
        (without) => cluster.register({ worker_id: without.id, labels: { what: 'a registration' } }),
      ],
      ['a retry', (_, failed) => cluster.retry(failed)],
    ];
    for (const [what, happens] of again) {
      const without = await cluster.register({ slots_total: 9, labels: { what } });
      const { id } = await cluster.submit(job({ requirements: { labels: { what } } }));
      await failOn(without, LACKS);
      assert.equal((await cluster.job(id)).status, 'failed', 'nobody else is eligible');
      await happens(without, id);
      const next = await cluster.submit(job({ requirements: { labels: { what } } }));
      const leased = (await without.lease(9)).map(jobIdOf);
      assert.ok(leased.includes(next.id), what);
    }
  });

  test('that no worker has fails a job of 1,000 tasks at the cost of one lease for each worker, with the error of a worker', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit(manyTasks(1000));
    const well = await cluster.submit(job({ dataset: { kind: 'shared_path', path: '/data/y' } }));
    const workers = [await cluster.register(), await cluster.register(), await cluster.register()];
    let leases = 0;
    for (let busy = true; busy; ) {
      busy = false;
      for (const worker of workers) {
        for (const task of await worker.lease()) {
          const { dataset } = task.payload.parse() as { dataset: { path: string } };
          await worker.start(task);
          busy = true;
          leases++;
          if (dataset.path === '/data/x') await worker.fail(task, LACKS);
          else await worker.complete(task);
        }
      }
    }
    await until('the job ends', async () => (await cluster.job(id)).status !== 'running');
    const failed = await cluster.job(id);
    assert.equal(failed.status, 'failed');
    assert.equal(failed.aggregate.num_failed, 1000);
    assert.equal((await cluster.job(well.id)).status, 'succeeded', 'no worker is blamed for it');
    const tasks = await cluster.tasks(id);
    assert.deepEqual([...new Set(tasks.map(({ error }) => error))], [LACKS.error]);
    assert.equal(leases, workers.length + 1);
  });

  test('that is missing everywhere fails tasks of other jobs before they are leased, while others wait for a worker', async (t) => {
    const cluster = await TestCluster.start(t);
    const without = await cluster.register();
    await cluster.submit();
    await failOn(without, LACKS);
    const never = await cluster.submit(manyTasks(3));
    const nobody = await cluster.submit(job({ requirements: { labels: { site: 'far' } } }));
    assert.deepEqual(await without.lease(), []);
    await until('the job ends', async () => (await cluster.job(never.id)).status !== 'queued');
    const view = await cluster.job(never.id);
    assert.deepEqual([view.status, view.aggregate.num_failed, view.error], ['failed', 3, LACKS.error]);
    assert.equal((await cluster.tasks(never.id))[0]?.attempt, 0);
    assert.equal((await cluster.job(nobody.id)).status, 'queued', 'its worker may still come');
  });

  test('is known of every worker: a task that one gave back does not go to the next that lacks it too', async (t) => {
    const cluster = await TestCluster.start(t);
    const [one, two, three] = [await cluster.register(), await cluster.register(), await cluster.register()];
    const { id } = await cluster.submit(manyTasks(2));
    await failOn(one, LACKS);
    await failOn(two, LACKS);
    assert.deepEqual(await one.lease(), []);
    assert.deepEqual(await two.lease(), []);
    assert.equal((await cluster.job(id)).aggregate.num_queued, 2);
    await three.complete(await three.run());
    await failOn(three, LACKS);
    assert.equal((await cluster.job(id)).status, 'succeeded');
    assert.equal((await cluster.job(id)).aggregate.num_failed, 1);
  });

  test('fails the tasks that wait for it as soon as all workers that are back lack it', async (t) => {
    const cluster = await TestCluster.start(t, { leaseTtl: 1000 });
    const [well, without] = [await cluster.register(), await cluster.register()];
    await cluster.submit();
    const waiting = await cluster.submit(job({ priority: -1 }));
    await failOn(without, LACKS);
    assert.deepEqual(await without.lease(), []);
    await well.complete(await well.run());
    await cluster.clock.advance(30);
    await well.heartbeat();
    // One after the other they fall silent, the one that has the path last.
    await cluster.clock.advance(60);
    assert.equal((await cluster.job(waiting.id)).status, 'queued', 'somebody else may still come');
    await without.heartbeat();
    const { status, error } = await cluster.job(waiting.id);
    assert.deepEqual([status, error], ['failed', LACKS.error]);
  });
});
