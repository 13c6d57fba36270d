import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { TestCluster } from '../support/cluster.ts';
import { sweep } from '../support/job.ts';
import type { TestWorker } from '../support/test-worker.ts';

/** A job of three tasks, of which the first succeeded and the others failed, each in its only attempt. */
async function partlyFailed(t: TestContext) {
  const { cluster, worker } = await withThreeSlots(t);
  return { cluster, worker, ...(await someFail(cluster, worker)) };
}

async function withThreeSlots(t: TestContext) {
  const cluster = await TestCluster.start(t);
  return { cluster, worker: await cluster.register({ slots_total: 3 }) };
}

async function someFail(cluster: TestCluster, worker: TestWorker) {
  const { id } = await cluster.submit(sweep(3, { retry: { max_attempts: 1 } }));
  const first = await worker.run();
  await worker.complete(first, { metrics: { best_rmse: 0.5 } });
  const failed = [await worker.run(), await worker.run()];
  for (const task of failed) await worker.fail(task);
  return { id, first: first.task_id, failed: failed.map(({ task_id }) => task_id) };
}

describe('retrying a job that succeeded with failed tasks', () => {
  test('queues the failed ones again; what succeeded stays as it is, and counts', async (t) => {
    const { cluster, worker, id, first } = await partlyFailed(t);
    assert.equal((await cluster.job(id)).status, 'succeeded');
    await cluster.retry(id);
    const queued = await cluster.job(id);
    assert.equal(queued.status, 'queued');
    const { num_queued, num_succeeded, num_failed, best_task_id } = queued.aggregate;
    assert.deepEqual([num_queued, num_succeeded, num_failed, best_task_id], [2, 1, 0, first]);
    assert.deepEqual(await cluster.statuses(id), ['succeeded', 'queued', 'queued']);
    const allowed = (await cluster.tasks(id)).map(({ max_attempts }) => max_attempts);
    assert.deepEqual(allowed, [1, 2, 2], 'as many attempts more as the job allowed');
    assert.equal((await cluster.port.reads.stats()).jobs_by_status.queued, 1);

    const better = await worker.run();
    assert.equal(better.attempt, 2, 'the count of attempts goes on');
    assert.equal((await cluster.job(id)).status, 'running');
    await worker.complete(better, { metrics: { best_rmse: 0.25 } });
    await worker.fail(await worker.run());
    const ended = await cluster.job(id);
    assert.equal(ended.status, 'succeeded');
    assert.deepEqual([ended.aggregate.num_succeeded, ended.aggregate.num_failed], [2, 1]);
    assert.equal(ended.aggregate.best_task_id, better.task_id);
    assert.deepEqual(
      ended.aggregate.ranking.map(({ task_id }) => task_id),
      [better.task_id, first],
    );
    const ends = (await cluster.eventTypes(id)).filter((type) => type.startsWith('job_'));
    assert.deepEqual(ends.slice(2), ['job_succeeded', 'job_retried', 'job_running', 'job_succeeded']);
  });

  test('is refused where no task failed, or all that did were tried again', async (t) => {
    const { cluster, worker } = await withThreeSlots(t);
    const { id } = await cluster.submit();
    await worker.complete(await worker.run());
    await assert.rejects(cluster.retry(id), {
      code: 'illegal_transition',
      message: /none of its tasks failed/,
    });
    const partly = await someFail(cluster, worker);
    await cluster.retry(partly.id);
    await assert.rejects(cluster.retry(partly.id), { code: 'illegal_transition', message: /is queued/ });
  });

  test('survives a restart, and a report of the attempt before it is still refused or repeated', async (t) => {
    const { cluster, worker, id, failed } = await partlyFailed(t);
    await cluster.retry(id);
    await cluster.restart();
    assert.deepEqual(await cluster.statuses(id), ['succeeded', 'queued', 'queued']);
    const [task_id] = failed as [string];
    const late = { task_id, attempt: 1 } as Parameters<typeof worker.complete>[0];
    await assert.rejects(worker.complete(late), { code: 'not_holder' });
    await worker.fail(late);
    assert.deepEqual(await cluster.statuses(id), ['succeeded', 'queued', 'queued']);
  });

  test('can be cancelled again, and then never runs again', async (t) => {
    const { cluster, id } = await partlyFailed(t);
    await cluster.retry(id);
    await cluster.cancel(id);
    assert.equal((await cluster.job(id)).status, 'cancelled');
    assert.deepEqual(await cluster.statuses(id), ['succeeded', 'cancelled', 'cancelled']);
    await assert.rejects(cluster.retry(id), { code: 'illegal_transition' });
  });
});

describe('retrying some tasks of a job', () => {
  test('queues those again and leaves the other failed ones; the job ends with the last of them', async (t) => {
    const { cluster, worker, id, failed } = await partlyFailed(t);
    const [one, other] = failed as [string, string];
    await cluster.retry(id, [other, other]);
    assert.deepEqual(await cluster.statuses(id), ['succeeded', 'failed', 'queued']);
    await worker.complete(await worker.run(), { metrics: { best_rmse: 0.75 } });
    const ended = await cluster.job(id);
    assert.equal(ended.status, 'succeeded');
    assert.deepEqual(Object.keys(ended.aggregate.errors), [one]);
  });

  test('works for a job that failed, which fails again while nothing succeeds', async (t) => {
    const { cluster, worker } = await withThreeSlots(t);
    const { id } = await cluster.submit(sweep(3, { retry: { max_attempts: 1 } }));
    const tasks = [await worker.run(), await worker.run(), await worker.run()];
    for (const task of tasks) await worker.fail(task);
    await cluster.retry(id, [(tasks[1] as (typeof tasks)[0]).task_id]);
    assert.deepEqual(await cluster.statuses(id), ['failed', 'queued', 'failed']);
    await worker.fail(await worker.run());
    assert.equal((await cluster.job(id)).status, 'failed');
  });

  test('is refused as a whole when one of them is no failed task of the job', async (t) => {
    const { cluster, worker, id, first, failed } = await partlyFailed(t);
    const { failed: foreign } = await someFail(cluster, worker);
    for (const wrong of [first, 'task_none', foreign[0] as string]) {
      await assert.rejects(cluster.retry(id, [failed[0] as string, wrong]), {
        code: 'illegal_transition',
        message: `${wrong} is not a failed task of job ${id}`,
      });
    }
    assert.deepEqual(await cluster.statuses(id), ['succeeded', 'failed', 'failed']);
  });
});
