import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { TestCluster, withWorker } from '../support/cluster.ts';

describe('a suspended worker', () => {
  test('is shown with its reason until it asks for tasks again, and both changes are events', async (t) => {
    const { cluster, worker } = await withWorker(t);
    await worker.heartbeat([], 0, 'its disk is full');
    assert.equal((await worker.view()).suspended, 'its disk is full');
    await worker.heartbeat([], 0, 'its interpreter is gone');
    assert.equal((await worker.view()).suspended, 'its interpreter is gone');
    await cluster.restart();
    assert.equal((await worker.view()).suspended, 'its interpreter is gone');
    await worker.heartbeat([]);
    assert.equal((await worker.view()).suspended, null);
    const events = await cluster.seen.events({ after_id: 0, limit: 100 });
    assert.deepEqual(
      events.map(({ type }) => type),
      ['worker_registered', 'worker_suspended', 'worker_resumed'],
    );
    assert.deepEqual(events[1]?.data, { reason: 'its disk is full' });
  });

  test('has a reason of at most a thousand characters, and is no longer suspended once it registers again', async (t) => {
    const { cluster, worker } = await withWorker(t);
    await worker.heartbeat([], 0, 'x'.repeat(5000));
    assert.equal((await worker.view()).suspended?.length, 1000);
    await cluster.register({ worker_id: worker.id });
    assert.equal((await worker.view()).suspended, null);
  });

  test('is named as a reason why tasks wait, and gets no task through a request that it made before', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const asked = worker.lease(1, 30);
    await worker.heartbeat([], 0, 'its disk is full');
    assert.deepEqual(await asked, []);
    const { id } = await cluster.submit();
    assert.deepEqual((await cluster.onlyTask(id)).waiting_for, [
      { requirement: 'suspended', workers_missing: 1 },
    ]);
    await worker.heartbeat([]);
    assert.equal((await worker.lease()).length, 1, 'until it asks again');
  });

  test('counts as alive: a task that avoids another worker waits for it', async (t) => {
    const cluster = await TestCluster.start(t);
    const [sick, ill] = [await cluster.register(), await cluster.register()];
    await ill.heartbeat([], 0, 'its disk is full');
    const { id } = await cluster.submit();
    await sick.fail(await sick.run(), { fault: 'worker' });
    assert.deepEqual((await cluster.onlyTask(id)).waiting_for, [
      { requirement: 'worker_fault', workers_missing: 1 },
      { requirement: 'suspended', workers_missing: 1 },
    ]);
    await ill.heartbeat([]);
    assert.equal((await ill.lease()).length, 1);
  });
});
