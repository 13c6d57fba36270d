import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { digestResult } from '../../machines/report/digest.ts';
import { atWork, job, TestCluster, withJob } from '../support/cluster.ts';
import { until } from '../support/until.ts';

describe('fencing', () => {
  test('only the worker that holds the task may report on it', async (t) => {
    const cluster = await TestCluster.start(t);
    await cluster.submit();
    const [holder, other] = [await cluster.register(), await cluster.register()];
    const task = await holder.run();
    await assert.rejects(other.complete(task), { code: 'not_holder' });
    await assert.rejects(other.fail(task), { code: 'not_holder' });
    await holder.complete(task);
  });

  test('a report of an earlier attempt changes nothing', async (t) => {
    const { cluster, id, worker } = await withJob(t);
    const first = await worker.run();
    await cluster.clock.advance(61);
    await until('the lease expires', async () => (await cluster.onlyTask(id)).status === 'queued');
    const second = await worker.run();
    assert.equal(second.attempt, 2);
    await assert.rejects(worker.complete(first), { code: 'stale_attempt' });
    assert.equal((await cluster.onlyTask(id)).status, 'running');
  });

  test("another principal's worker and its tasks are refused with the principal's name", async (t) => {
    const { cluster, worker, task } = await atWork(t);
    const eve = { name: 'eve', rights: ['execute'] as const };
    const report = {
      type: 'complete_task',
      principal: eve,
      worker_id: worker.id,
      task_id: task.task_id,
    } as const;
    await assert.rejects(cluster.port.send({ ...report, result: digestResult({ status: 'succeeded' }) }), {
      code: 'not_owner',
      message: `principal 'eve' is not registered for worker ${worker.id}`,
    });
  });

  test('reports on unknown tasks and by unknown workers are refused', async (t) => {
    const { cluster, worker, task } = await atWork(t);
    await assert.rejects(worker.complete({ task_id: 'task_none', attempt: 1 }), { code: 'unknown_id' });
    const ghost = {
      type: 'start_task',
      principal: cluster.principal,
      worker_id: 'worker_none',
      task_id: task.task_id,
    };
    await assert.rejects(cluster.port.send(ghost as never), { code: 'unknown_id' });
  });

  test('a task must be started before it is completed', async (t) => {
    const { worker } = await withJob(t);
    const task = await worker.leaseOne();
    await assert.rejects(worker.complete(task), { code: 'illegal_transition' });
  });
});

describe('repeated reports', () => {
  test('repeating start, complete or fail gets the same answer and changes nothing', async (t) => {
    const { cluster, id, worker } = await withJob(t);
    const task = await worker.leaseOne();
    assert.deepEqual([await worker.start(task), await worker.start(task)], [{ ok: true }, { ok: true }]);
    assert.deepEqual(
      [await worker.complete(task), await worker.complete(task)],
      [{ ok: true }, { ok: true }],
    );
    const types = await cluster.eventTypes(id);
    for (const type of ['task_started', 'task_completed', 'job_succeeded']) {
      assert.equal(types.filter((found) => found === type).length, 1, type);
    }
  });

  test('a failure may be repeated after the task was queued anew, by whoever reported it', async (t) => {
    const { cluster, id, worker, task } = await atWork(t);
    assert.deepEqual(await worker.fail(task), { ok: true, requeued: true });
    await cluster.restart();
    assert.deepEqual(await worker.fail(task), { ok: true, requeued: true });
    assert.equal((await cluster.onlyTask(id)).attempt, 1);
    await worker.leaseOne();
    assert.deepEqual(await worker.fail(task), { ok: true, requeued: true }, 'by its attempt');
    assert.equal((await cluster.onlyTask(id)).status, 'leased');
  });

  test('without an attempt, a report of a worker that holds the task anew is about the new lease', async (t) => {
    const { cluster, id, worker, task } = await atWork(t);
    const report = {
      type: 'fail_task',
      principal: cluster.principal,
      worker_id: worker.id,
      task_id: task.task_id,
      failure: { error: 'no' },
    } as const;
    assert.deepEqual(await cluster.port.send(report), { ok: true, requeued: true });
    assert.deepEqual(await cluster.port.send(report), { ok: true, requeued: true });
    await worker.run();
    assert.deepEqual(await cluster.port.send(report), { ok: true, requeued: false });
    assert.equal((await cluster.onlyTask(id)).status, 'failed');
  });
});

describe('failure', () => {
  test('a failure queues the task again while attempts remain, then fails it and its job', async (t) => {
    const { cluster, id, worker } = await withJob(t, job({ retry: { max_attempts: 2 } }));
    await worker.fail(await worker.run(), { error: 'first' });
    const last = await worker.run();
    assert.deepEqual(await worker.fail(last, { error: 'second' }), { ok: true, requeued: false });
    const view = await cluster.job(id);
    assert.equal(view.status, 'failed');
    assert.equal(view.error, 'second');
    assert.deepEqual(view.aggregate.errors, { [last.task_id]: 'second' });
  });

  test('a job with one success among failures has succeeded, with the errors listed by task', async (t) => {
    const cluster = await TestCluster.start(t);
    const pipeline = { kind: 'inline_json', inline: 1 };
    const submitted = await cluster.submit(job({ pipeline: null, pipelines: [pipeline, pipeline] }));
    const worker = await cluster.register({ slots_total: 2 });
    const bad = await worker.run();
    await worker.fail(bad, { error: 'no data', retriable: false });
    const good = await worker.run();
    await worker.complete(good, { metrics: { best_rmse: 1 } });
    const view = await cluster.job(submitted.id);
    assert.equal(view.status, 'succeeded');
    assert.deepEqual(view.aggregate.errors, { [bad.task_id]: 'no data' });
    assert.equal(view.aggregate.best_task_id, good.task_id);
  });

  test('the server ends an attempt whose worker does not enforce the timeout, and tells it to stop', async (t) => {
    const cluster = await TestCluster.start(t, { timeoutGrace: 60, leaseTtl: 1000 });
    const submitted = await cluster.submit(job({ timeout_seconds: 30, retry: { max_attempts: 1 } }));
    const worker = await cluster.register();
    const task = await worker.run();
    await cluster.clock.advance(89);
    assert.equal((await cluster.onlyTask(submitted.id)).status, 'running');
    await cluster.clock.advance(2);
    const failed = await until('the attempt ends', async () => {
      const now = await cluster.onlyTask(submitted.id);
      return now.status === 'failed' && now;
    });
    assert.match(failed.error ?? '', /timed out.*30 s/);
    assert.deepEqual((await worker.heartbeat()).cancel_task_ids, [task.task_id]);
    await assert.rejects(worker.complete(task), { code: 'not_holder' });
    assert.deepEqual((await worker.heartbeat()).cancel_task_ids, []);
  });
});
