import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MOST_PEERS } from '../../machines/protocol/peers.ts';
import type { WorkerView } from '../../machines/schema/views.ts';
import { atWork, job, TestCluster, withWorker } from '../support/cluster.ts';
import { until } from '../support/until.ts';

describe('the life of a worker', () => {
  test('a worker that falls silent is dead but keeps its tasks, and a heartbeat brings it back', async (t) => {
    const { cluster, id, worker } = await atWork(t, undefined, { leaseTtl: 600, workerDeadAfter: 45 });
    await cluster.clock.advance(46);
    const dead = await until('the worker is dead', async () =>
      (await cluster.seen.workers()).find((view) => view.status === 'dead'),
    );
    assert.equal(dead.slots_used, 1);
    assert.equal((await cluster.onlyTask(id)).status, 'running');
    await worker.heartbeat();
    assert.equal((await cluster.seen.workers())[0]?.status, 'alive');
    const types = await cluster.eventTypes();
    assert.deepEqual(types.slice(-2), ['worker_dead', 'worker_alive']);
  });

  test('a worker id can be registered again by the same principal, and by no other', async (t) => {
    const { cluster, worker } = await withWorker(t, { name: 'old', slots_total: 1 });
    const again = await cluster.register({ worker_id: worker.id, name: 'new', slots_total: 3 });
    assert.equal(again.id, worker.id);
    const [view] = await cluster.seen.workers();
    assert.deepEqual([view?.name, view?.slots_total], ['new', 3]);
    const stranger = { name: 'eve', rights: ['execute'] as const };
    await assert.rejects(cluster.register({ worker_id: worker.id }, stranger), {
      code: 'not_owner',
      message: `principal 'eve' is not registered for worker ${worker.id}`,
    });
  });

  test('what a worker declares of itself, first and anew, outlives a restart', async (t) => {
    const cluster = await TestCluster.start(t);
    const declared = { name: 'old', labels: { site: 'a' }, capabilities: { gpu: 0 } };
    const worker = await cluster.register({ ...declared, version: { packages: { demo: '1' } } });
    const anew = { name: 'new', labels: { site: 'b' }, capabilities: { gpu: 2 }, slots_total: 3 };
    const version = { packages: { demo: '2' } };
    await cluster.register({ worker_id: worker.id, version });
    // Also what says the same of its packages, down to the very object, may say something else of the rest.
    await cluster.register({ ...anew, worker_id: worker.id, version });
    await worker.heartbeat();
    const before = await cluster.seen.workers();
    await cluster.restart();
    const after = await cluster.seen.workers();
    assert.deepEqual(after, before);
    const { name, labels, capabilities, slots_total } = after[0] as WorkerView;
    assert.deepEqual({ name, labels, capabilities, slots_total }, anew);
    assert.deepEqual(after[0]?.version, version);
  });

  test('what keeps a queued task waiting is counted over the live workers', async (t) => {
    const cluster = await TestCluster.start(t);
    const submitted = await cluster.submit(job({ requirements: { labels: { site: 'b' } } }));
    await cluster.register({ labels: { site: 'a' } });
    await cluster.register({ labels: { site: 'a' }, version: {} });
    const waiting = async () => (await cluster.onlyTask(submitted.id)).waiting_for;
    assert.deepEqual(await waiting(), [
      { requirement: 'labels.site=b', workers_missing: 2 },
      { requirement: 'packages.demo', workers_missing: 1 },
    ]);
    await cluster.submit(job({ priority: 1, requirements: { labels: { site: 'b' } } }));
    const full = await cluster.register({ labels: { site: 'b' } });
    await full.run();
    assert.deepEqual((await waiting()).at(-1), { requirement: 'slots', workers_missing: 1 });
  });

  test('a peer of another version is noted once for each role and version', async (t) => {
    const cluster = await TestCluster.start(t);
    await cluster.register({ version: { cluster: '9.9.9' } });
    await cluster.register({ version: { cluster: '9.9.9' } });
    await cluster.port.send({ type: 'note_peer', role: 'worker', version: '9.9.9' });
    await cluster.port.send({ type: 'note_peer', role: 'client', version: '9.9.9' });
    const noted = (await cluster.eventTypes()).filter((type) => type === 'version_divergence');
    assert.equal(noted.length, 2);
    assert.equal((await cluster.seen.workers())[0]?.version_divergent, true);
  });

  test('a peer is noted once for good: not again after a restart, and not when it makes versions up', async (t) => {
    const cluster = await TestCluster.start(t);
    const note = (role: string, version: string) => cluster.port.send({ type: 'note_peer', role, version });
    const noted = async () =>
      (await cluster.eventTypes()).filter((type) => type === 'version_divergence').length;
    await note('worker', '9.9.9');
    await cluster.restart();
    await note('worker', '9.9.9');
    assert.equal(await noted(), 1);
    for (let i = 0; i < MOST_PEERS + 20; i++) await note('client', `1.0.${i}`);
    await cluster.restart();
    for (let i = 0; i < MOST_PEERS; i++) await note('client', `2.0.${i}`);
    await note('client', 'made up');
    assert.equal(await noted(), 1 + MOST_PEERS);
  });
});
