import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { atWork, job, TestCluster, withJob, withWorker } from '../support/cluster.ts';
import { sweep } from '../support/job.ts';
import { cv, datasets, selecting } from './selection-support.ts';

const refused = (code: string) => (error: { code?: string }) => error.code === code;

describe('one task that is cancelled', () => {
  test('is cancelled at once where it waits, and the job goes on and ends with the others', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit(sweep(3));
    const [first, second] = await cluster.tasks(id);
    assert.deepEqual(await cluster.cancelTask(first?.id as string), {
      task_id: first?.id,
      job_id: id,
      status: 'cancelled',
    });
    assert.equal((await cluster.job(id)).status, 'queued');
    await cluster.restart();
    const worker = await cluster.register();
    const task = await worker.run();
    assert.equal(task.task_id, second?.id);
    await worker.complete(task);
    await worker.complete(await worker.run());
    assert.deepEqual(await cluster.statuses(id), ['cancelled', 'succeeded', 'succeeded']);
    assert.equal((await cluster.job(id)).status, 'succeeded');
  });

  test('is told to its worker where it runs, and ends cancelled whatever that reports', async (t) => {
    const { cluster, id, worker } = await withJob(t, sweep(2), undefined, { slots_total: 2 });
    const [leased, running] = await worker.lease(2);
    assert.ok(leased && running);
    await worker.start(running);
    const beat = worker.heartbeat([running], 5);
    assert.equal((await cluster.cancelTask(running.task_id)).status, 'running');
    assert.equal((await cluster.cancelTask(running.task_id)).status, 'running');
    assert.deepEqual((await beat).cancel_task_ids, [running.task_id]);
    assert.equal((await cluster.cancelTask(leased.task_id)).status, 'cancelled');
    assert.equal((await cluster.job(id)).status, 'running');
    await worker.complete(running);
    assert.deepEqual(await cluster.statuses(id), ['cancelled', 'cancelled']);
    assert.equal((await cluster.job(id)).status, 'cancelled');
  });

  test('leaves a job that failed without it failed, and its failed tasks can be retried', async (t) => {
    const { cluster, id, worker, task } = await atWork(t, { ...sweep(2), retry: { max_attempts: 1 } });
    await worker.fail(task);
    const [, second] = await cluster.tasks(id);
    await cluster.cancelTask(second?.id as string);
    const { status, error } = await cluster.job(id);
    assert.deepEqual([status, error], ['failed', 'it broke']);
    await cluster.retry(id);
    assert.deepEqual(await cluster.statuses(id), ['queued', 'cancelled']);
    await worker.complete(await worker.run());
    assert.equal((await cluster.job(id)).status, 'succeeded');
  });

  test('changes nothing when it has ended, and is unknown where there is none', async (t) => {
    const { cluster, id, worker, task } = await atWork(t);
    await worker.complete(task);
    const before = await cluster.eventTypes();
    assert.equal((await cluster.cancelTask(task.task_id)).status, 'succeeded');
    assert.deepEqual(await cluster.eventTypes(), before);
    assert.equal((await cluster.job(id)).status, 'succeeded');
    for (const act of ['cancelTask', 'requeueTask'] as const)
      await assert.rejects(cluster[act]('task_of_nobody'), refused('unknown_id'));
  });
});

describe('one task that is queued again', () => {
  test('is taken from its worker, which is told to stop it, and no attempt is spent', async (t) => {
    const { cluster, id, worker, task } = await atWork(t, job({ retry: { max_attempts: 1 } }));
    const beat = worker.heartbeat([task], 5);
    assert.equal((await cluster.requeueTask(task.task_id)).status, 'queued');
    assert.deepEqual((await beat).cancel_task_ids, [task.task_id]);
    await assert.rejects(worker.complete(task), refused('not_holder'));
    await cluster.restart();
    const again = await worker.run();
    assert.deepEqual([again.task_id, again.attempt], [task.task_id, 2]);
    await assert.rejects(worker.complete(task), refused('stale_attempt'));
    await worker.complete(again);
    assert.equal((await cluster.job(id)).status, 'succeeded');
  });

  test('is refused where no worker has it, or it is being cancelled', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit();
    const { id: task } = await cluster.onlyTask(id);
    await assert.rejects(cluster.requeueTask(task), refused('illegal_transition'));
    const worker = await cluster.register();
    await worker.run();
    await cluster.cancelTask(task);
    await assert.rejects(cluster.requeueTask(task), refused('illegal_transition'));
    await cluster.cancel(id);
    await assert.rejects(cluster.requeueTask(task), refused('illegal_transition'));
  });
});

describe('single cancellations in a job that selects', () => {
  test('of all variants cancel the job', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit(selecting(2));
    for (const { id: task } of await cluster.tasks(id)) await cluster.cancelTask(task);
    const { status, error } = await cluster.job(id);
    assert.deepEqual([status, error], ['cancelled', null]);
  });

  /** Its variants have succeeded; what refits the best is cancelled. */
  async function withoutRefit(t: TestContext) {
    const { cluster, worker } = await withWorker(t);
    const { id } = await cluster.submit(selecting(2));
    for (const value of [2, 1]) await worker.complete(await worker.run(), cv(value));
    const refit = (await cluster.tasks(id)).at(-1);
    await cluster.cancelTask(refit?.id as string);
    return { cluster, worker, id, refit };
  }

  test('of the refit fail it, and say why: the variants have succeeded', async (t) => {
    const { cluster, id } = await withoutRefit(t);
    const { status, error } = await cluster.job(id);
    assert.deepEqual([status, error], ['failed', 'what refits the selected variant was cancelled']);
  });

  test('of the refit is followed, when the job is retried, by a new task that refits', async (t) => {
    const { cluster, worker, id, refit } = await withoutRefit(t);
    await cluster.restart();
    await cluster.retry(id);
    const again = await worker.run();
    assert.notEqual(again.task_id, refit?.id);
    await worker.complete(again, cv(1));
    const { status, aggregate } = await cluster.job(id);
    assert.deepEqual([status, aggregate.num_cancelled, aggregate.num_succeeded], ['succeeded', 1, 3]);
    assert.deepEqual(
      aggregate.selections?.map(({ refit, refit_task_id }) => [refit, refit_task_id]),
      [['succeeded', again.task_id]],
    );
    await assert.rejects(cluster.retry(id), { code: 'illegal_transition' });
  });

  test('of one refit is followed by a new one when the job is retried, although another refit succeeded', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const { id } = await cluster.submit(selecting(1, { dataset: undefined, datasets: datasets('a', 'b') }));
    for (const value of [2, 1]) await worker.complete(await worker.run(), cv(value));
    const [, , first, second] = await cluster.tasks(id);
    await cluster.cancelTask(first?.id as string);
    const lease = await worker.run();
    assert.equal(lease.task_id, second?.id);
    await worker.complete(lease, cv(1));
    assert.equal((await cluster.job(id)).status, 'succeeded');
    await cluster.retry(id);
    await worker.complete(await worker.run(), cv(1));
    const { status, aggregate } = await cluster.job(id);
    assert.equal(status, 'succeeded');
    assert.deepEqual(
      aggregate.selections?.map(({ refit }) => refit),
      ['succeeded', 'succeeded'],
    );
  });
});

describe('a task that is taken back and given to the same worker again in the same turn', () => {
  test('has its earlier attempt stopped: the heartbeat that waits says so', async (t) => {
    const { cluster, worker } = await withJob(t, job(), undefined, { slots_total: 2 });
    const first = await worker.run();
    const beat = worker.heartbeat([first], 5);
    const again = worker.lease(1, 5);
    await cluster.requeueTask(first.task_id);
    assert.deepEqual((await beat).cancel_task_ids, [first.task_id]);
    const [next] = await again;
    assert.equal(next?.task_id, first.task_id);
    assert.notEqual(next?.attempt, first.attempt);
  });
});
