import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MessageOf, MessageType } from '../../gateway/messages.ts';
import { atWork, job, TestCluster } from '../support/cluster.ts';
import type { TestWorker } from '../support/test-worker.ts';
import { until } from '../support/until.ts';

/** Has the store refuse what the act asks for, and works again. */
async function refused(cluster: TestCluster, act: () => Promise<unknown>): Promise<void> {
  cluster.fillDisk();
  await assert.rejects(act(), { code: 'store_unavailable' });
  cluster.freeDisk();
}

/** A worker without `active` that has lost its running task: it has not been told to stop it yet. */
async function withStopOrder(cluster: TestCluster): Promise<{ worker: TestWorker; task_id: string }> {
  await cluster.submit(job({ retry: { max_attempts: 1 } }));
  const worker = await cluster.register();
  const { task_id } = await worker.run();
  await cluster.clock.advance(61);
  await until(
    'the lease expires',
    async () => (await cluster.port.reads.stats()).tasks_by_status.failed === 1,
  );
  return { worker, task_id };
}

const again = ({ cluster, id, principal }: TestWorker) =>
  cluster.port.send({ type: 'register_worker', principal, registration: { worker_id: id } });

/** Messages that arrive in one moment make one turn. */
const together = (cluster: TestCluster, ...messages: MessageOf<MessageType>[]) =>
  Promise.allSettled(messages.map((message) => cluster.port.send(message as never)));

describe('a commit that is refused leaves no trace in memory', () => {
  test('a worker that could not register again is still told what it must stop', async (t) => {
    const cluster = await TestCluster.start(t, { leaseTtl: 60 });
    const { worker, task_id } = await withStopOrder(cluster);
    await refused(cluster, () => again(worker));
    assert.deepEqual((await worker.heartbeat()).cancel_task_ids, [task_id]);
  });

  test('a worker is still told what it must stop after its report could not be written', async (t) => {
    const cluster = await TestCluster.start(t, { leaseTtl: 60 });
    const { worker, task_id } = await withStopOrder(cluster);
    await cluster.clock.advance(61);
    await until('the worker is dead', async () => (await cluster.seen.workers())[0]?.status === 'dead');
    await refused(cluster, () => worker.start({ task_id, attempt: 1 }));
    assert.deepEqual((await worker.heartbeat()).cancel_task_ids, [task_id]);
  });

  test('a worker is told to stop nothing because of a cancellation that was refused', async (t) => {
    const { cluster, id, worker, task } = await atWork(t);
    const active = [{ task_id: task.task_id, attempt: 1 }];
    cluster.fillDisk();
    const [cancelled, beat] = await together(
      cluster,
      { type: 'cancel_job', principal: cluster.principal, job_id: id },
      { type: 'heartbeat', principal: worker.principal, worker_id: worker.id, active, wait_s: 0 },
    );
    assert.equal(cancelled?.status, 'rejected');
    assert.deepEqual(beat, { status: 'fulfilled', value: { ok: true, cancel_task_ids: [] } });
  });

  test('a heartbeat in a refused turn still renews its own leases, and no others', async (t) => {
    const cluster = await TestCluster.start(t, { leaseTtl: 60, workerDeadAfter: 1000 });
    const [one, two] = [await cluster.submit(), await cluster.submit()];
    const worker = await cluster.register({ slots_total: 2 });
    const first = await worker.run();
    await worker.run();
    await cluster.clock.advance(50);
    cluster.fillDisk();
    const active = [{ task_id: first.task_id, attempt: 1 }];
    const [registered, beat] = await together(
      cluster,
      { type: 'register_worker', principal: cluster.principal, registration: {} },
      { type: 'heartbeat', principal: worker.principal, worker_id: worker.id, active, wait_s: 0 },
    );
    assert.deepEqual([registered?.status, beat?.status], ['rejected', 'fulfilled']);
    cluster.freeDisk();
    const left = async (id: string) =>
      Math.round(((await cluster.onlyTask(id)).lease_expires_at ?? 0) - cluster.clock.now());
    assert.deepEqual([await left(one.id), await left(two.id)], [60, 10]);
  });

  test('a heartbeat that the server holds stays held when the turn of a newer heartbeat is refused', async (t) => {
    const { cluster, id, worker, task } = await atWork(t);
    cluster.fillDisk();
    const active = [{ task_id: task.task_id, attempt: 1 }];
    const beat = { type: 'heartbeat', principal: worker.principal, worker_id: worker.id, active } as const;
    const held = cluster.port.send({ ...beat, wait_s: 10 });
    await assert.rejects(cluster.submit(), { code: 'store_unavailable' });
    cluster.freeDisk();
    await cluster.cancel(id);
    assert.deepEqual(await held, { ok: true, cancel_task_ids: [task.task_id] });
  });
});
