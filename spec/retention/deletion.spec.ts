import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Principal } from '../../machines/protocol/rights.ts';
import { job } from '../support/cluster.ts';
import { assertRowsFit, clusterKeeping, count, DAY, done, download, isThere, upload } from './support.ts';

const ann: Principal = { name: 'ann', rights: ['submit', 'read', 'cancel'] };
const bob: Principal = { name: 'bob', rights: ['submit', 'read', 'cancel'] };

describe('a job that is deleted', () => {
  test('is gone for whoever asks, with its tasks, results, artifacts and events', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {});
    const { id, model, lease } = await done(cluster, worker, { name: 'corn' });
    const other = await done(cluster, worker, { name: 'corn too' });

    assert.deepEqual(await cluster.delete(id), { id, deleted: true, num_tasks: 1 });
    await assert.rejects(cluster.job(id), { code: 'unknown_id' });
    await assert.rejects(cluster.tasks(id), { code: 'unknown_id' });
    await assert.rejects(cluster.seen.events({ job_id: id, after_id: 0, limit: 10 }), { code: 'unknown_id' });
    assert.deepEqual(
      (await cluster.seen.jobs({ name: 'corn', limit: 10 })).map((found) => found.id),
      [other.id],
    );
    await cluster.settled();
    await assert.rejects(cluster.port.reads.artifact(model), { code: 'unknown_id' });
    await assert.rejects(worker.complete(lease), { code: 'unknown_id' });
    assert.equal(await count(cluster, 'tasks'), 1);
    assert.equal(await count(cluster, 'task_artifacts'), 2);
    assert.equal(await count(cluster, 'deletions'), 0);
    const { jobs_by_status, tasks_by_status } = await cluster.port.reads.stats();
    assert.deepEqual([jobs_by_status.succeeded, tasks_by_status.succeeded], [1, 1]);
    await assertRowsFit(cluster);
    assert.equal(await download(cluster, other.model), await download(cluster, other.model));

    await cluster.restart();
    await assert.rejects(cluster.job(id), { code: 'unknown_id' });
    const after = await cluster.port.reads.stats();
    assert.deepEqual([after.jobs_by_status.succeeded, after.tasks_by_status.succeeded], [1, 1]);
  });

  test('has its bytes removed a day later, but for those that another artifact has', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {});
    const alone = await done(cluster, worker, {}, 'bytes of its own');
    const shared = await done(cluster, worker, {}, 'bytes of two');
    const other = await done(cluster, worker, {}, 'bytes of two');
    await cluster.delete(alone.id);
    await cluster.delete(shared.id);
    await cluster.pass(DAY / 2);
    assert.equal(await isThere(cluster, alone.sha256), true, 'within the day');
    await cluster.pass(DAY);
    assert.equal(await isThere(cluster, alone.sha256), false, 'after it');
    assert.equal(await isThere(cluster, shared.sha256), true, 'named by another');
    assert.equal(await download(cluster, other.model), 'bytes of two');
    assert.equal(await count(cluster, 'unnamed_objects'), 0);
  });

  test('leaves its inputs for a day, and for good where another job names them', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {});
    const own = await upload(cluster, 'an input');
    const shared = await upload(cluster, 'an input of two');
    const naming = (artifact_id: string) => ({ dataset: { kind: 'artifact', artifact_id } });
    const first = await done(cluster, worker, naming(own));
    const second = await done(cluster, worker, naming(shared));
    await done(cluster, worker, naming(shared));
    await cluster.delete(first.id);
    await cluster.delete(second.id);
    await cluster.pass(DAY / 2);
    assert.equal(await download(cluster, own), 'an input');
    await cluster.pass(DAY);
    await assert.rejects(cluster.port.reads.artifact(own), { code: 'unknown_id' });
    assert.equal(await download(cluster, shared), 'an input of two');
    await assert.rejects(cluster.submit(job(naming(own))), { code: 'invalid_body' });
    await assertRowsFit(cluster);
  });

  test('leaves an output that another job has as its input, until that one is deleted', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {});
    const first = await done(cluster, worker);
    const second = await done(cluster, worker, { dataset: { kind: 'artifact', artifact_id: first.model } });
    await cluster.delete(first.id);
    await cluster.pass(3 * DAY);
    assert.match(await download(cluster, first.model), /^model/);
    await assertRowsFit(cluster);
    await cluster.delete(second.id);
    await cluster.pass(4 * DAY);
    await assert.rejects(cluster.port.reads.artifact(first.model), { code: 'unknown_id' });
    assert.equal(await isThere(cluster, first.sha256), false);
  });

  test('has its number given to no other, nor its place among events', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {});
    const { id } = await done(cluster, worker);
    await cluster.delete(id);
    await cluster.settled();
    const last = cluster.port.events.lastId;
    await cluster.restart();
    await cluster.submit();
    const events = await cluster.seen.events({ after_id: last, limit: 10 });
    assert.equal(events[0]?.id, last + 1);
    assert.equal(await count(cluster, 'jobs WHERE seq = 2'), 1);
    assert.equal(await count(cluster, 'tasks WHERE seq = 2'), 1);
  });

  test('frees its idempotency key', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {});
    const { id } = await done(cluster, worker, { idempotency_key: 'once' });
    await cluster.delete(id);
    assert.notEqual((await cluster.submit(job({ idempotency_key: 'once' }))).id, id);
  });
});

describe('a job is not deleted', () => {
  test('while it is in motion', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {});
    const { id } = await cluster.submit();
    await assert.rejects(cluster.delete(id), { code: 'illegal_transition', message: /is queued; cancel it/ });
    const lease = await worker.run();
    await assert.rejects(cluster.delete(id), { code: 'illegal_transition', message: /is running/ });
    await cluster.cancel(id);
    await assert.rejects(cluster.delete(id), { code: 'illegal_transition', message: /is cancelling/ });
    await worker.complete(lease);
    await cluster.delete(id);
  });

  test('that is kept for ever, before that is taken back', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {});
    const { id } = await done(cluster, worker, { keep: 'forever' });
    assert.equal((await cluster.job(id)).keep, 'forever');
    await assert.rejects(cluster.delete(id), { code: 'job_kept' });
    await cluster.keep(id, null);
    assert.equal((await cluster.job(id)).keep, null);
    await cluster.delete(id);
  });

  test('by others than who submitted it, but for an admin', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {});
    const { id } = await cluster.submit(job(), ann);
    await worker.complete(await worker.run());
    await assert.rejects(cluster.delete(id, bob), { code: 'not_owner' });
    await assert.rejects(cluster.keep(id, 'forever', bob), { code: 'not_owner' });
    await cluster.keep(id, '7d', ann);
    await cluster.delete(id, ann);
    const second = await cluster.submit(job(), ann);
    await worker.complete(await worker.run());
    await cluster.delete(second.id);
  });

  test('that is not any more as it was chosen: somebody retried it meanwhile', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {});
    const { id } = await cluster.submit(job({ retry: { max_attempts: 1 } }));
    await worker.fail(await worker.run());
    const ended_before = cluster.clock.now() + 1;
    const refused = { code: 'illegal_transition' };
    const failed = { status: 'failed' as const };
    await cluster.retry(id);
    await assert.rejects(cluster.delete(id, cluster.principal, false, failed), refused);
    await assert.rejects(cluster.delete(id, cluster.principal, false, { ended_before }), refused);
    await cluster.clock.advance(2);
    await worker.complete(await worker.run());
    await assert.rejects(cluster.delete(id, cluster.principal, true, failed), refused);
    await assert.rejects(cluster.delete(id, cluster.principal, false, { ended_before }), refused);
    const only = { status: 'succeeded' as const, ended_before: cluster.clock.now() + 1 };
    await cluster.delete(id, cluster.principal, false, only);
  });

  test('where it is only asked if it would be', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, {});
    const { id } = await done(cluster, worker);
    const before = cluster.port.events.lastId;
    assert.deepEqual(await cluster.delete(id, cluster.principal, true), { id, deleted: false, num_tasks: 1 });
    assert.equal((await cluster.job(id)).status, 'succeeded');
    assert.equal(cluster.port.events.lastId, before);
    await cluster.keep(id, 'forever');
    await assert.rejects(cluster.delete(id, cluster.principal, true), { code: 'job_kept' });
  });
});
