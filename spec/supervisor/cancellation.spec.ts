import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { job, TestCluster } from '../support/cluster.ts';
import { until } from '../support/until.ts';

const three = () =>
  job({ pipeline: null, pipelines: [1, 2, 3].map((n) => ({ kind: 'inline_json', inline: n })) });
const statuses = async (cluster: TestCluster, id: string) =>
  (await cluster.tasks(id)).map((task) => task.status).sort();

describe('cancelling a job', () => {
  test('a queued job is cancelled at once, with all its tasks, and none is ever leased', async (t) => {
    const cluster = await TestCluster.start(t);
    const submitted = await cluster.submit(three());
    await cluster.cancel(submitted.id);
    const view = await cluster.job(submitted.id);
    assert.deepEqual(
      [view.status, view.aggregate.num_cancelled, view.aggregate.num_queued],
      ['cancelled', 3, 0],
    );
    assert.deepEqual(await statuses(cluster, submitted.id), ['cancelled', 'cancelled', 'cancelled']);
    const worker = await cluster.register({ slots_total: 3 });
    assert.deepEqual(await worker.lease(3), []);
  });

  test('a worker that waits gets the next task behind those of a cancelled job at once', async (t) => {
    const cluster = await TestCluster.start(t);
    const cancelled = await cluster.submit(three());
    const next = await cluster.submit();
    await cluster.cancel(cancelled.id);
    const worker = await cluster.register({ slots_total: 1 });
    const leased = await worker.leaseOne();
    assert.equal((await cluster.onlyTask(next.id)).id, leased.task_id);
  });

  test('queued and leased tasks are cancelled at once, a running one when its worker has stopped it', async (t) => {
    const cluster = await TestCluster.start(t);
    const submitted = await cluster.submit(three());
    const worker = await cluster.register({ slots_total: 2 });
    const running = await worker.run();
    const leased = await worker.leaseOne();
    await cluster.cancel(submitted.id);
    assert.equal((await cluster.job(submitted.id)).status, 'cancelling');
    assert.deepEqual(await statuses(cluster, submitted.id), ['cancelled', 'cancelled', 'running']);
    await assert.rejects(worker.start(leased), { code: 'not_holder' });
    assert.deepEqual((await worker.heartbeat()).cancel_task_ids, [running.task_id]);
    await worker.fail(running, { error: 'cancelled', retriable: false });
    assert.equal((await cluster.job(submitted.id)).status, 'cancelled');
    assert.equal((await cluster.seen.workers())[0]?.slots_used, 0);
  });

  test('a success that is reported for a job being cancelled counts as cancelled', async (t) => {
    const cluster = await TestCluster.start(t);
    const submitted = await cluster.submit();
    const worker = await cluster.register();
    const task = await worker.run();
    await cluster.cancel(submitted.id);
    assert.deepEqual(await worker.complete(task), { ok: true });
    const view = await cluster.onlyTask(submitted.id);
    assert.deepEqual([view.status, view.result], ['cancelled', null]);
  });

  test('a task of a cancelled job whose lease expires is cancelled, never queued again', async (t) => {
    const cluster = await TestCluster.start(t);
    const submitted = await cluster.submit();
    await (await cluster.register()).run();
    await cluster.cancel(submitted.id);
    await cluster.clock.advance(61);
    await until('the job is cancelled', async () => (await cluster.job(submitted.id)).status === 'cancelled');
    const types = await cluster.eventTypes(submitted.id);
    assert.equal(types.includes('task_requeued'), false);
  });

  test('a heartbeat that the server holds is answered as soon as a task of its worker is cancelled', async (t) => {
    const cluster = await TestCluster.start(t);
    const submitted = await cluster.submit();
    const worker = await cluster.register();
    const task = await worker.run();
    const beat = worker.heartbeat([{ task_id: task.task_id, attempt: 1 }], 10);
    await cluster.cancel(submitted.id);
    assert.deepEqual(await beat, { ok: true, cancel_task_ids: [task.task_id] });
  });

  test('the answer to a heartbeat does not name again a task that the worker says it is stopping', async (t) => {
    const cluster = await TestCluster.start(t);
    const submitted = await cluster.submit();
    const worker = await cluster.register();
    const task = await worker.run();
    await cluster.cancel(submitted.id);
    const stopping = { task_id: task.task_id, attempt: 1, stopping: true };
    assert.deepEqual((await worker.heartbeat([stopping])).cancel_task_ids, []);
  });

  test('the answer to a heartbeat names a task that the worker lists but no longer holds', async (t) => {
    const cluster = await TestCluster.start(t);
    const worker = await cluster.register();
    const ghost = { task_id: 'task_gone', attempt: 1 };
    assert.deepEqual((await worker.heartbeat([ghost])).cancel_task_ids, ['task_gone']);
  });

  test('a newer heartbeat of a worker ends the wait of an older one', async (t) => {
    const cluster = await TestCluster.start(t);
    const worker = await cluster.register();
    const older = worker.heartbeat([], 10);
    const newer = worker.heartbeat([], 10);
    assert.deepEqual(await older, { ok: true, cancel_task_ids: [] });
    await cluster.clock.advance(10);
    assert.deepEqual(await newer, { ok: true, cancel_task_ids: [] });
  });

  test('cancelling a job that has ended changes nothing, but the request is recorded', async (t) => {
    const cluster = await TestCluster.start(t);
    const submitted = await cluster.submit();
    const worker = await cluster.register();
    await worker.complete(await worker.run());
    await cluster.cancel(submitted.id);
    assert.equal((await cluster.job(submitted.id)).status, 'succeeded');
    assert.equal((await cluster.eventTypes(submitted.id)).at(-1), 'job_cancel_requested');
  });

  test('an unknown job is refused', async (t) => {
    const cluster = await TestCluster.start(t);
    await assert.rejects(cluster.cancel('job_none'), { code: 'unknown_id' });
    await assert.rejects(cluster.retry('job_none'), { code: 'unknown_id' });
  });
});

describe('retrying a failed job', () => {
  test('its failed tasks are queued again with more attempts, and the count of attempts goes on', async (t) => {
    const cluster = await TestCluster.start(t);
    const submitted = await cluster.submit(job({ retry: { max_attempts: 1 } }));
    const worker = await cluster.register();
    await worker.fail(await worker.run());
    await cluster.retry(submitted.id);
    const queued = await cluster.onlyTask(submitted.id);
    assert.deepEqual(
      [queued.status, queued.attempt, queued.max_attempts, queued.error],
      ['queued', 1, 2, null],
    );
    const again = await worker.run();
    assert.equal(again.attempt, 2);
    await worker.complete(again);
    assert.equal((await cluster.job(submitted.id)).status, 'succeeded');
  });

  test('only a failed job can be retried', async (t) => {
    const cluster = await TestCluster.start(t);
    const submitted = await cluster.submit();
    await assert.rejects(cluster.retry(submitted.id), { code: 'illegal_transition' });
    await cluster.cancel(submitted.id);
    await assert.rejects(cluster.retry(submitted.id), { code: 'illegal_transition' });
  });
});

describe('very many tasks', () => {
  const MANY = 2500;
  const many = (): Record<string, unknown> =>
    job({
      pipeline: null,
      pipelines: Array.from({ length: MANY }, (_, inline) => ({ kind: 'inline_json', inline })),
    });

  test('are cancelled as a whole or not at all, and none is leased meanwhile', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit(many());
    cluster.faults.beforeCommit = () =>
      Promise.reject(Object.assign(new Error('SQLITE_FULL: the disk is full'), { code: 'SQLITE_FULL' }));
    await assert.rejects(cluster.cancel(id), { code: 'store_unavailable' });
    delete cluster.faults.beforeCommit;
    assert.deepEqual(new Set(await statuses(cluster, id)), new Set(['queued']));
    const worker = await cluster.register({ slots_total: 2 });
    const running = await worker.run();
    const asking = worker.lease(1);
    await Promise.all([cluster.cancel(id), asking]);
    assert.deepEqual(new Set(await statuses(cluster, id)), new Set(['cancelled', 'running']));
    assert.deepEqual(await worker.lease(1), []);
    await worker.fail(running);
    await cluster.restart();
    assert.equal((await cluster.job(id)).status, 'cancelled');
  });
});
