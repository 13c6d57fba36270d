import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { rename, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { objectPath } from '../../actors/server/blobs/paths.ts';
import { withJob, withWorker } from '../support/cluster.ts';
import type { TestWorker } from '../support/test-worker.ts';
import { textOf } from '../support/views.ts';
import { asking, complete, computed, inline, isReused, known, principal, RESULT } from './reuse-support.ts';

/** What a worker uploads for a task it holds. */
async function upload(worker: TestWorker, task_id: string, role: string, bytes: Buffer): Promise<string> {
  const { port } = worker.cluster;
  const writer = await port.blobs.create();
  await writer.write(bytes);
  const stored = await writer.finish();
  const { artifact_id } = await port.send({
    type: 'record_artifact',
    principal: worker.principal,
    ...stored,
    ...{ kind: role, filename: `${role}.bin`, task: { task_id, role, worker_id: worker.id } },
  });
  await writer.keep();
  return artifact_id;
}

describe('a task that was computed before', () => {
  test('is answered with that result and model at once, as if it had been computed anew, and names the task that computed them', async (t) => {
    const { cluster, id, worker } = await withJob(t, known());
    const lease = await worker.run();
    const model = await upload(worker, lease.task_id, 'model', randomBytes(2000));
    const other = await upload(worker, lease.task_id, 'output', randomBytes(10));
    await worker.complete(lease, { ...RESULT, artifacts: { model } });
    const again = await cluster.submit(asking({ name: 'again', rank_metric: ['other', 'cv_rmse'] }));
    assert.equal(again.status, 'succeeded');
    const task = await cluster.onlyTask(again.id);
    const reused_from = { job_id: id, task_id: lease.task_id };
    assert.deepEqual(
      [task.status, task.attempt, task.worker_id, task.started_at, task.error, task.reused_from],
      ['succeeded', 0, null, null, null, reused_from],
    );
    assert.deepEqual(task.result, (await cluster.onlyTask(id)).result);
    const { aggregate } = again;
    assert.deepEqual(
      [aggregate.num_succeeded, aggregate.num_reused, aggregate.rank_metric, aggregate.best_metric],
      [1, 1, 'cv_rmse', 0.5],
    );
    assert.deepEqual([aggregate.best_task_id, aggregate.best_model_artifact_id], [task.id, model]);
    assert.deepEqual(aggregate.ranking[0]?.reused_from, reused_from);
    const files = await cluster.seen.jobArtifacts(again.id);
    assert.deepEqual(
      files.map(({ role, task_id, id }) => [role, task_id, id]),
      [
        ['model', task.id, model],
        ['output', task.id, other],
        ['best_model', null, model],
      ],
    );
    assert.deepEqual(await cluster.eventTypes(again.id), ['job_submitted', 'task_reused', 'job_succeeded']);
    const events = await cluster.seen.events({ job_id: again.id, after_id: 0, limit: 10 });
    assert.deepEqual(events[1]?.data.reused_from, reused_from);
    assert.deepEqual(events[1]?.data.metrics, RESULT.metrics);
    assert.deepEqual(await worker.lease(), [], 'nothing is left to compute');
  });

  test('is not computed again in a sweep that grew: only its new tasks are', async (t) => {
    const { cluster, worker } = await withWorker(t, { slots_total: 10 }, { sliceSize: 2 });
    const sweep = (n: number, differs: object = {}) => {
      const pipelines = Array.from({ length: n }, (_, i) => inline({ pls: i }));
      return known({ pipeline: undefined, pipelines, ...differs });
    };
    await cluster.submit(sweep(4));
    for (const [i, lease] of (await worker.lease(10)).entries())
      await complete(worker, lease, { demo_version: '1.0', metrics: { best_rmse: i + 1 } });
    const asked: Promise<Record<string, number>>[] = [];
    const stop = cluster.port.events.subscribe((events) => {
      if (events.some(({ type }) => type === 'task_reused'))
        asked.push(cluster.port.reads.stateCounts('job'));
    });
    const grown = await cluster.submit(sweep(7, { reuse: true }));
    stop();
    const seen = await Promise.all(asked);
    assert.ok(seen.some((counts) => counts['job.queued.reusing'] === 1));
    for (const { 'job.queued.ready': ready = 0, 'job.queued.reusing': reusing = 0, ...counts } of seen)
      assert.equal(ready + reusing, counts['job.queued'], 'it is in one state below its status');
    assert.equal(grown.status, 'queued');
    assert.deepEqual([grown.aggregate.num_succeeded, grown.aggregate.num_reused], [4, 4]);
    const rest = await worker.lease(10);
    assert.equal(rest.length, 3);
    for (const lease of rest)
      await complete(worker, lease, { demo_version: '1.0', metrics: { best_rmse: 0.5 } });
    const { status, aggregate } = await cluster.job(grown.id);
    assert.deepEqual([status, aggregate.num_succeeded, aggregate.num_reused], ['succeeded', 7, 4]);
    assert.deepEqual(
      aggregate.ranking.map((entry) => [
        (entry as Record<string, unknown>).best_rmse,
        entry.reused_from != null,
      ]),
      [0.5, 0.5, 0.5, 1, 2, 3, 4].map((value) => [value, value >= 1]),
    );
    const csv = (await textOf(cluster.port.reads.ranking({ job_id: grown.id, csv: true }))).split('\r\n');
    assert.match(csv[0] ?? '', /^rank,task_id,dataset,pipeline,reused_from,best_rmse/);
    assert.match(csv[4] ?? '', /^4,task_\w+,[^,]*,[^,]*,task_\w+,1/);
    // Computed once, it is there for the next.
    assert.equal((await cluster.submit(sweep(7, { reuse: true }))).aggregate.num_reused, 7);
  });

  test('points to the task that computed, not to one that was answered with its result', async (t) => {
    const { cluster, task } = await computed(t);
    for (let i = 0; i < 2; i++) {
      const { id } = await cluster.submit(asking());
      assert.equal((await cluster.onlyTask(id)).reused_from?.task_id, task);
    }
  });

  test('is computed anew unless the job asks for reuse', async (t) => {
    const { cluster } = await computed(t);
    assert.equal(await isReused(cluster, known()), false);
    assert.equal(await isReused(cluster, known({ reuse: false })), false);
    assert.equal(await isReused(cluster, known({ reuse: true })), true);
  });
});

describe('the results that a job reuses', () => {
  test('are those of its owner or those of anybody, as the job says', async (t) => {
    const { cluster } = await computed(t);
    const ann = principal('ann');
    assert.equal(await isReused(cluster, asking(), ann), false);
    assert.equal(await isReused(cluster, asking({ reuse: 'any' }), ann), true);
  });

  test('are those of its owner first', async (t) => {
    const { cluster, worker } = await computed(t);
    const zoe = principal('zoe');
    const own = await cluster.submit(known(), zoe);
    await complete(worker, await worker.leaseOne());
    const { id } = await cluster.submit(asking({ reuse: 'any' }), zoe);
    assert.equal((await cluster.onlyTask(id)).reused_from?.job_id, own.id);
  });
});

describe('a result that is not whole any more', () => {
  const damages: Record<string, (path: string, size: number) => Promise<void>> = {
    missing: (path) => rename(path, `${path}.gone`),
    'cut short': (path, size) => truncate(path, size - 1),
    'of other bytes': (path, size) => writeFile(path, Buffer.alloc(size)),
  };
  for (const role of ['model', 'output']) {
    for (const [what, damage] of Object.entries(damages)) {
      test(`is computed anew: its ${role} is ${what}`, async (t) => {
        const { cluster, worker } = await withWorker(t);
        const bytes = randomBytes(3000);
        const once = async () => {
          const lease = await worker.run();
          const id = await upload(worker, lease.task_id, role, bytes);
          await worker.complete(lease, { ...RESULT, artifacts: role === 'model' ? { model: id } : {} });
        };
        await cluster.submit(known());
        await once();
        assert.equal(await isReused(cluster, asking()), true);
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        await damage(join(cluster.stateDir, objectPath(sha256)), bytes.length);
        assert.equal(await isReused(cluster, asking()), false);
        // What computes it again mends it.
        await once();
        assert.equal(await isReused(cluster, asking()), true);
      });
    }
  }
});

describe('a task that failed or was cancelled', () => {
  test('has no result to reuse, and neither has one that succeeded after its job was cancelled', async (t) => {
    const { cluster, worker } = await withJob(t, known({ retry: { max_attempts: 1 } }));
    await worker.fail(await worker.run());
    assert.equal(await isReused(cluster, asking({ name: 'failed' })), false);
    const lease = await worker.run();
    await cluster.cancel(JSON.parse(lease.payload.text).job_id);
    await worker.complete(lease, RESULT);
    assert.equal(await isReused(cluster, asking()), false);
  });

  test('is computed when it is retried, also where an equal task has succeeded meanwhile', async (t) => {
    const { cluster, worker } = await withWorker(t, { slots_total: 2 });
    const { id } = await cluster.submit(asking({ retry: { max_attempts: 1 } }));
    await worker.fail(await worker.run());
    await cluster.submit(known());
    await complete(worker, await worker.leaseOne());
    await cluster.retry(id);
    assert.equal((await cluster.onlyTask(id)).status, 'queued');
    assert.equal((await worker.leaseOne()).task_id, (await cluster.onlyTask(id)).id);
  });
});

describe('an idempotency key', () => {
  test('distinguishes a job that asks for reuse from one that does not', async (t) => {
    const { cluster } = await computed(t);
    const first = await cluster.submit(asking({ idempotency_key: 'k' }));
    assert.equal((await cluster.submit(asking({ idempotency_key: 'k' }))).id, first.id);
    for (const reuse of [false, 'any', undefined]) {
      await assert.rejects(cluster.submit(known({ idempotency_key: 'k', reuse })), {
        code: 'idempotency_conflict',
      });
    }
    const plain = await cluster.submit(known({ idempotency_key: 'p' }));
    assert.equal((await cluster.submit(known({ idempotency_key: 'p', reuse: false }))).id, plain.id);
  });
});
