import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atWork, job, type TestCluster, withWorker } from '../support/cluster.ts';

const PREEMPTED = { error: 'given back', fault: 'worker', reason: 'preempted' } as const;

const lastOf = async (cluster: TestCluster, id: string) => {
  const events = await cluster.seen.events({ job_id: id, after_id: 0, limit: 1000 });
  return events.filter(({ type }) => type.startsWith('task_')).at(-1);
};

describe('a task that its worker gives back', () => {
  test('goes back to its place, before those that came later, and waits for nobody but a worker', async (t) => {
    const { cluster, id, worker, task } = await atWork(
      t,
      job({ retry: { max_attempts: 1, backoff_seconds: 60 } }),
    );
    const later = await cluster.submit();
    assert.deepEqual(await worker.fail(task, PREEMPTED), { ok: true, requeued: true });
    const { status, attempt, max_attempts, error, waiting_for } = await cluster.onlyTask(id);
    assert.deepEqual([status, attempt, max_attempts, error, waiting_for], ['queued', 1, 2, null, []]);
    assert.deepEqual(
      (await (await cluster.register()).lease(1)).map(({ task_id, attempt }) => [task_id, attempt]),
      [[task.task_id, 2]],
    );
    assert.equal((await cluster.job(later.id)).status, 'queued');
  });

  test('is given back as often as it happens, also to the same worker, and where there is no other', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const { id } = await cluster.submit(job({ retry: { max_attempts: 1 } }));
    for (let attempt = 1; attempt <= 12; attempt++) {
      const task = await worker.run();
      assert.equal(task.attempt, attempt);
      assert.equal((await worker.fail(task, PREEMPTED)).requeued, true);
    }
    await worker.fail(await worker.run());
    assert.equal(
      (await cluster.onlyTask(id)).status,
      'failed',
      'a failure of its own is the one that counts',
    );
  });

  test('may be given back before it was started, and the report may be repeated', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const { id } = await cluster.submit();
    const task = await worker.leaseOne();
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(await worker.fail(task, PREEMPTED), { ok: true, requeued: true });
    }
    assert.equal((await cluster.onlyTask(id)).status, 'queued');
    assert.equal((await lastOf(cluster, id))?.data.reason, 'preempted');
    assert.equal((await worker.view()).slots_used, 0);
  });

  test('ends cancelled where its job is being cancelled, and final failures are given back all the same', async (t) => {
    const { cluster, id, worker, task } = await atWork(t);
    await cluster.cancel(id);
    await worker.fail(task, PREEMPTED);
    assert.equal((await cluster.job(id)).status, 'cancelled');
    const other = await cluster.submit();
    await worker.fail(await worker.run(), { ...PREEMPTED, retriable: false });
    assert.equal((await cluster.onlyTask(other.id)).status, 'queued');
  });

  test('counts as any other failure where the reason is a word that nobody knows', async (t) => {
    const { cluster, id, worker, task } = await atWork(t, job({ retry: { max_attempts: 1 } }));
    await worker.fail(task, { error: 'it broke', reason: 'tired' });
    assert.equal((await cluster.onlyTask(id)).status, 'failed');
  });

  test('counts among what goes back to the queue by its reason, not among failures, and the log says so', async (t) => {
    const { cluster, worker, task } = await atWork(t);
    await worker.fail(task, PREEMPTED);
    assert.ok(cluster.log.some(({ msg }) => /queued again \(preempted\)/.test(msg)));
    assert.ok(!(await cluster.eventTypes()).includes('task_failed'));
  });
});
