import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { atWork, TestCluster, withJob, withWorker } from '../support/cluster.ts';
import type { TestWorker } from '../support/test-worker.ts';
import { until } from '../support/until.ts';

/** The workers that are in memory: those that are shown to who begins to watch all actors. */
async function inMemory(cluster: TestCluster): Promise<string[]> {
  const ids = new Set<string>();
  const stop = await cluster.port.inspection.watch(undefined, (messages) => {
    for (const { actorId } of messages) if (actorId.startsWith('worker_')) ids.add(actorId);
  });
  stop();
  return [...ids].sort();
}

const dead = (cluster: TestCluster, count = 1) =>
  until('they are dead', async () => (await cluster.port.reads.stats()).workers_dead === count);

const again = ({ cluster, id, principal }: TestWorker, by = principal) =>
  cluster.port.send({ type: 'register_worker', principal: by, registration: { worker_id: id } });

const beat = ({ cluster, id, principal }: TestWorker, session: number) =>
  cluster.port.send({ type: 'heartbeat', principal, worker_id: id, session, active: [], wait_s: 0 });

/** A worker that fell silent and was let go from memory. */
async function gone(t: TestContext) {
  const { cluster, worker } = await withWorker(t, { name: 'ada', labels: { site: 'lab-a' } });
  await cluster.clock.advance(46);
  await dead(cluster);
  assert.deepEqual(await inMemory(cluster), []);
  return { cluster, worker };
}

describe('a dead worker that holds no task', () => {
  test('is no longer kept in memory, however many there are, and is still listed', async (t) => {
    const cluster = await TestCluster.start(t);
    const many: string[] = [];
    for (let n = 0; n < 100; n++) many.push((await cluster.register()).id);
    assert.equal((await inMemory(cluster)).length, 100);
    await cluster.clock.advance(46);
    await dead(cluster, 100);
    const living = await cluster.register();
    assert.deepEqual(await inMemory(cluster), [living.id]);
    const listed = await cluster.seen.workers();
    assert.deepEqual(listed.map(({ id }) => id).sort(), [...many, living.id].sort());
    assert.equal(listed.filter(({ status }) => status === 'dead').length, 100);
  });

  test('is not loaded into memory at a start either', async (t) => {
    const { cluster, worker } = await gone(t);
    await cluster.restart();
    assert.deepEqual(await inMemory(cluster), []);
    await worker.heartbeat();
    assert.equal((await worker.view()).status, 'alive');
  });

  test('comes back with its next sign of life, with what it declared and in its session', async (t) => {
    const { cluster, worker } = await gone(t);
    const { session } = await again(worker);
    await cluster.clock.advance(46);
    await dead(cluster);
    assert.deepEqual(await inMemory(cluster), []);
    await assert.rejects(beat(worker, session - 1), { code: 'superseded' });
    assert.equal((await worker.view()).status, 'dead', 'an older session is no sign of life');
    assert.deepEqual(await inMemory(cluster), []);
    await beat(worker, session);
    assert.equal((await worker.view()).status, 'alive');
    assert.deepEqual(await inMemory(cluster), [worker.id]);
    assert.ok((await cluster.eventTypes()).includes('worker_alive'));
  });

  test('is given tasks again that fit what it declared', async (t) => {
    const { cluster, worker } = await gone(t);
    await cluster.submit();
    assert.equal((await worker.lease()).length, 1);
    assert.equal((await worker.view()).status, 'alive');
  });

  test('can be registered again only by the principal that registered it', async (t) => {
    const { cluster, worker } = await gone(t);
    const other = { ...cluster.principal, name: 'somebody else' };
    await assert.rejects(again(worker, other), { code: 'not_owner' });
    const { worker_id, session } = await again(worker);
    assert.deepEqual([worker_id, session], [worker.id, 2]);
    assert.equal((await cluster.seen.workers()).length, 1);
  });

  test('gets the same answer to a repeated report, and no other worker may report on its task', async (t) => {
    const { cluster, id, worker, task } = await atWork(t);
    await worker.complete(task);
    await cluster.clock.advance(46);
    await dead(cluster);
    assert.deepEqual(await inMemory(cluster), []);
    const principal = { ...cluster.principal, name: 'somebody else' };
    const said = { level: 'info', type: 'log', message: 'hello', data: '{}' } as const;
    await assert.rejects(
      cluster.port.send({ type: 'report_events', principal, task_id: task.task_id, events: [said] }),
      { code: 'not_owner' },
    );
    assert.deepEqual(await worker.complete(task), { ok: true });
    assert.equal((await cluster.job(id)).status, 'succeeded');
  });

  test('stays dead when its return cannot be committed, and its heartbeats are answered', async (t) => {
    const { cluster, worker } = await gone(t);
    cluster.fillDisk();
    await assert.rejects(again(worker), { code: 'store_unavailable' });
    assert.deepEqual(await inMemory(cluster), []);
    assert.deepEqual(await worker.heartbeat(), { ok: true, cancel_task_ids: [] });
    assert.equal((await worker.view()).status, 'dead');
    cluster.freeDisk();
    await cluster.clock.advance(2);
    await until('the store commits again', () => cluster.state === 'serving');
    await worker.heartbeat();
    assert.equal((await worker.view()).status, 'alive');
  });
});

describe('a dead worker', () => {
  test('stays in memory while it holds a task, and while it still has to be told to stop one', async (t) => {
    const {
      cluster,
      worker,
      task: { task_id },
    } = await atWork(t, undefined, { leaseTtl: 60 });
    await cluster.clock.advance(46);
    await dead(cluster);
    assert.deepEqual(await inMemory(cluster), [worker.id]);
    await cluster.restart();
    assert.deepEqual(await inMemory(cluster), [worker.id], 'its task is read with it');
    await cluster.clock.advance(61);
    await until(
      'its lease expires',
      async () => (await cluster.port.reads.stats()).tasks_by_status.queued === 1,
    );
    assert.deepEqual((await worker.heartbeat()).cancel_task_ids, [task_id]);
  });

  test('stays in memory while the paths that it lacks are remembered, so that no task that names them is sent to it', async (t) => {
    const { cluster, worker } = await withJob(t);
    await cluster.register();
    const task = await worker.run();
    await worker.fail(task, { fault: 'worker', missing_path: '/data/x', error: 'no such path' });
    await cluster.clock.advance(46);
    await dead(cluster, 2);
    assert.deepEqual(await inMemory(cluster), [worker.id]);
    await cluster.clock.advance(600);
    await until('it is gone', async () => (await inMemory(cluster)).length === 0);
  });
});
