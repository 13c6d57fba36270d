import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atWork, TestCluster, withWorker } from '../support/cluster.ts';
import type { TestWorker } from '../support/test-worker.ts';
import { until } from '../support/until.ts';

const who = ({ id, principal }: TestWorker) => ({ worker_id: id, principal });

/** A program of the worker, which knows the session that its registration opened. */
async function registered(cluster: TestCluster, worker_id?: string) {
  const { principal } = cluster;
  const registration = {
    slots_total: 2,
    version: { packages: { demo: '1.0' } },
    ...(worker_id && { worker_id }),
  };
  return cluster.port.send({ type: 'register_worker', principal, registration });
}

const beat = (worker: TestWorker, session?: number, wait_s = 0) =>
  worker.cluster.port.send({
    type: 'heartbeat',
    ...who(worker),
    wait_s,
    active: [],
    ...(session !== undefined && { session }),
  });

const ask = (worker: TestWorker, session: number, wait_s = 30) =>
  worker.cluster.port.send({ type: 'lease', ...who(worker), max_tasks: 1, wait_s, session });

describe('the session of a registration', () => {
  test('is larger with each registration of the worker, also after a restart', async (t) => {
    const cluster = await TestCluster.start(t);
    const first = await registered(cluster);
    const second = await registered(cluster, first.worker_id);
    await cluster.restart();
    const third = await registered(cluster, first.worker_id);
    assert.ok(first.session < second.session && second.session < third.session);
    const other = await registered(cluster);
    assert.equal(other.session, first.session, "each worker's are its own");
  });

  test('is refused once there is a newer one, and is then no sign of life', async (t) => {
    const { cluster, worker } = await withWorker(t, undefined, { workerDeadAfter: 45 });
    const { session } = await registered(cluster, worker.id);
    await cluster.clock.advance(40);
    await assert.rejects(beat(worker, session - 1), { code: 'superseded' });
    await assert.rejects(ask(worker, session - 1), { code: 'superseded' });
    await cluster.clock.advance(10);
    await until('it is dead', async () => (await cluster.seen.workers())[0]?.status === 'dead');
  });

  test('is answered while it is the newest, and so is a worker that names none', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const { session } = await registered(cluster, worker.id);
    assert.deepEqual(await beat(worker, session), { ok: true, cancel_task_ids: [] });
    assert.deepEqual(await beat(worker), { ok: true, cancel_task_ids: [] });
    await cluster.submit();
    assert.equal((await worker.lease()).length, 1);
  });

  test('is unknown if it was never opened, so that after the restore of an older store the worker registers again', async (t) => {
    const { worker } = await withWorker(t);
    await assert.rejects(beat(worker, 7), { code: 'unknown_id' });
  });

  test('ends the waiting requests of older ones at once, and they get no task of the same turn', async (t) => {
    const cluster = await TestCluster.start(t);
    const { worker_id, session } = await registered(cluster);
    const worker = { id: worker_id, principal: cluster.principal, cluster } as TestWorker;
    const waiting = Promise.allSettled([ask(worker, session), beat(worker, session, 9)]);
    const [submitted] = await Promise.all([cluster.submit(), registered(cluster, worker_id)]);
    const [lease, heartbeat] = await waiting;
    assert.equal(heartbeat.status === 'rejected' && heartbeat.reason.code, 'superseded');
    assert.equal(lease.status === 'rejected' && lease.reason.code, 'superseded');
    const task = await cluster.onlyTask(submitted.id);
    assert.deepEqual([task.status, task.attempt], ['queued', 0]);
  });

  test('ends no waiting request that names no session', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const waiting = worker.lease(1, 30);
    await registered(cluster, worker.id);
    await cluster.submit();
    assert.equal((await waiting).length, 1);
  });

  test('that is not the newest withdraws no request of the newest', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const { session } = await registered(cluster, worker.id);
    const waiting = ask(worker, session);
    const withdrawal = { type: 'lease', ...who(worker), max_tasks: 0, wait_s: 0 } as const;
    await assert.rejects(cluster.port.send({ ...withdrawal, session: session - 1 }), { code: 'superseded' });
    await cluster.submit();
    assert.equal((await waiting).tasks.length, 1);
  });

  test('is not opened by a registration that was refused: the older one goes on', async (t) => {
    const cluster = await TestCluster.start(t);
    const { worker_id, session } = await registered(cluster);
    const worker = { id: worker_id, principal: cluster.principal, cluster } as TestWorker;
    const waiting = ask(worker, session);
    await beat(worker, session);
    cluster.fillDisk();
    await assert.rejects(registered(cluster, worker_id), { code: 'store_unavailable' });
    assert.deepEqual(await beat(worker, session), { ok: true, cancel_task_ids: [] });
    cluster.freeDisk();
    await cluster.submit();
    assert.equal((await waiting).tasks.length, 1);
    assert.equal((await registered(cluster, worker_id)).session, session + 1);
  });

  test('does not matter to reports, which are fenced by their attempt alone: a result from an older one is accepted', async (t) => {
    const { cluster, id, worker, task } = await atWork(t);
    await registered(cluster, worker.id);
    await worker.complete(task);
    assert.equal((await cluster.onlyTask(id)).status, 'succeeded');
  });
});
