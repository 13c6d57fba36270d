import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atWork, job, TestCluster, withWorker } from '../support/cluster.ts';
import type { TestWorker } from '../support/test-worker.ts';

const condition = async (worker: TestWorker) => {
  const { status, leaving } = await worker.view();
  return [status, leaving];
};

describe('a worker that is leaving', () => {
  test('is draining while it finishes its tasks, then stopped at once, and never counts as silent', async (t) => {
    const { cluster, worker, task } = await atWork(t);
    const active = [{ task_id: task.task_id, attempt: task.attempt }];
    assert.deepEqual(await condition(worker), ['alive', null]);
    await worker.heartbeat(active, 0, undefined, 'draining');
    await worker.heartbeat(active, 0, undefined, 'draining');
    assert.deepEqual(await condition(worker), ['alive', 'draining']);
    await cluster.restart();
    assert.deepEqual(await condition(worker), ['alive', 'draining']);
    await worker.complete(task);
    await worker.heartbeat([], 0, undefined, 'stopped');
    assert.deepEqual(await condition(worker), ['dead', 'stopped']);
    await cluster.restart();
    assert.deepEqual(await condition(worker), ['dead', 'stopped']);
    const stats = await cluster.port.reads.stats();
    assert.deepEqual([stats.workers_alive, stats.workers_dead], [0, 1]);
    const types = (await cluster.eventTypes()).filter((type) => type.startsWith('worker_'));
    assert.deepEqual(types, ['worker_registered', 'worker_draining', 'worker_stopped']);
  });

  test('is named as a reason why tasks wait, and gets no task through a request that it made before', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const asked = worker.lease(1, 30);
    await worker.heartbeat([], 0, undefined, 'draining');
    assert.deepEqual(await asked, []);
    const { id } = await cluster.submit();
    assert.deepEqual((await cluster.onlyTask(id)).waiting_for, [
      { requirement: 'draining', workers_missing: 1 },
    ]);
    await worker.heartbeat([], 0, undefined, 'stopped');
    assert.deepEqual((await cluster.onlyTask(id)).waiting_for, []);
  });

  test('is alive as before when it registers again, or reports that it is not leaving', async (t) => {
    const { cluster, worker } = await withWorker(t);
    await worker.heartbeat([], 0, undefined, 'draining');
    await worker.heartbeat([]);
    assert.deepEqual(await condition(worker), ['alive', null]);
    await worker.heartbeat([], 0, undefined, 'stopped');
    await cluster.register({ worker_id: worker.id });
    assert.deepEqual(await condition(worker), ['alive', null]);
    await worker.heartbeat([], 0, 'its disk is full', 'draining');
    const { suspended, leaving } = await worker.view();
    assert.deepEqual([suspended, leaving], ['its disk is full', 'draining']);
  });

  test('is not waited for: a task that only it could have run fails at once', async (t) => {
    const cluster = await TestCluster.start(t);
    const [sick, ending] = [await cluster.register(), await cluster.register()];
    const { id } = await cluster.submit(job({ retry: { max_attempts: 2 } }));
    await sick.fail(await sick.run(), { fault: 'worker', error: 'no disk' });
    assert.equal((await cluster.onlyTask(id)).status, 'queued');
    await ending.heartbeat([], 0, undefined, 'stopped');
    const task = await cluster.onlyTask(id);
    assert.deepEqual([task.status, task.error], ['failed', 'no disk']);
  });

  test('loses its tasks only when their leases expire, whatever it was doing', async (t) => {
    const { cluster, id, worker } = await atWork(t);
    await worker.heartbeat([], 0, undefined, 'stopped');
    assert.equal((await cluster.onlyTask(id)).status, 'running');
  });
});
