import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atWork, TestCluster, withWorker } from '../support/cluster.ts';
import { sweep } from '../support/job.ts';

describe('cancelling a job', () => {
  test('a queued job is cancelled at once, with all its tasks, and none is ever leased', async (t) => {
    const cluster = await TestCluster.start(t);
    const submitted = await cluster.submit(sweep(3));
    await cluster.cancel(submitted.id);
    const view = await cluster.job(submitted.id);
    assert.deepEqual(
      [view.status, view.aggregate.num_cancelled, view.aggregate.num_queued],
      ['cancelled', 3, 0],
    );
    assert.deepEqual(await cluster.statuses(submitted.id), ['cancelled', 'cancelled', 'cancelled']);
    const worker = await cluster.register({ slots_total: 3 });
    assert.deepEqual(await worker.lease(3), []);
  });

  test('a worker that waits gets the next task behind those of a cancelled job at once', async (t) => {
    const cluster = await TestCluster.start(t);
    const cancelled = await cluster.submit(sweep(3));
    const next = await cluster.submit();
    await cluster.cancel(cancelled.id);
    const worker = await cluster.register({ slots_total: 1 });
    const leased = await worker.leaseOne();
    assert.equal((await cluster.onlyTask(next.id)).id, leased.task_id);
  });

  test('queued and leased tasks are cancelled at once, a running one when its worker has stopped it', async (t) => {
    const cluster = await TestCluster.start(t);
    const submitted = await cluster.submit(sweep(3));
    const worker = await cluster.register({ slots_total: 2 });
    const running = await worker.run();
    const leased = await worker.leaseOne();
    await cluster.cancel(submitted.id);
    assert.equal((await cluster.job(submitted.id)).status, 'cancelling');
    assert.deepEqual((await cluster.statuses(submitted.id)).sort(), ['cancelled', 'cancelled', 'running']);
    await assert.rejects(worker.start(leased), { code: 'not_holder' });
    assert.deepEqual((await worker.heartbeat()).cancel_task_ids, [running.task_id]);
    await worker.fail(running, { error: 'cancelled', retriable: false });
    assert.equal((await cluster.job(submitted.id)).status, 'cancelled');
    assert.equal((await cluster.seen.workers())[0]?.slots_used, 0);
  });

  test('a heartbeat that the server holds is answered as soon as a task of its worker is cancelled', async (t) => {
    const { cluster, id, worker, task } = await atWork(t);
    const beat = worker.heartbeat([{ task_id: task.task_id, attempt: 1 }], 10);
    await cluster.cancel(id);
    assert.deepEqual(await beat, { ok: true, cancel_task_ids: [task.task_id] });
  });

  test('the answer to a heartbeat does not name again a task that the worker says it is stopping', async (t) => {
    const { cluster, id, worker, task } = await atWork(t);
    await cluster.cancel(id);
    const stopping = { task_id: task.task_id, attempt: 1, stopping: true };
    assert.deepEqual((await worker.heartbeat([stopping])).cancel_task_ids, []);
  });

  test('the answer to a heartbeat names a task that the worker lists but no longer holds', async (t) => {
    const { worker } = await withWorker(t);
    const ghost = { task_id: 'task_gone', attempt: 1 };
    assert.deepEqual((await worker.heartbeat([ghost])).cancel_task_ids, ['task_gone']);
  });

  test('a newer heartbeat of a worker ends the wait of an older one', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const older = worker.heartbeat([], 10);
    const newer = worker.heartbeat([], 10);
    assert.deepEqual(await older, { ok: true, cancel_task_ids: [] });
    await cluster.clock.advance(10);
    assert.deepEqual(await newer, { ok: true, cancel_task_ids: [] });
  });
});
