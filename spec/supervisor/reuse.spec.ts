import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { rename, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { objectPath } from '../../actors/server/blobs/paths.ts';
import type { LeasedTask } from '../../gateway/messages.ts';
import type { Principal } from '../../machines/protocol/rights.ts';
import { digestJob } from '../../machines/submission/job-digest.ts';
import { TestCluster, type TestWorker } from '../support/cluster.ts';
import { textOf } from '../support/views.ts';

const SHA = 'a'.repeat(64);
const DATASET = { kind: 'catalog', catalog_id: 'corn@1', sha256: SHA };
const inline = (inline: unknown, more: object = {}) => ({ kind: 'inline_json', inline, ...more });

/** A job whose task is known by content; give what differs. */
const known = (differs: Record<string, unknown> = {}): Record<string, unknown> => ({
  type: 'demo.run',
  pipeline: inline({ steps: ['snv', 1] }),
  dataset: DATASET,
  params: { random_state: 42 },
  ...differs,
});

const asking = (differs: Record<string, unknown> = {}) => known({ reuse: true, ...differs });

const principal = (name: string): Principal => ({ name, rights: ['execute', 'read', 'submit', 'cancel'] });

const RESULT = { demo_version: '1.0', metrics: { best_rmse: 0.25, cv_rmse: 0.5 }, extra: { said: 'so' } };

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

/** An input that a client uploads. */
async function input(cluster: TestCluster, text: string, filename: string): Promise<string> {
  const writer = await cluster.port.blobs.create();
  await writer.write(Buffer.from(text));
  const stored = await writer.finish();
  const { artifact_id } = await cluster.port.send({
    ...{ type: 'record_artifact', principal: cluster.principal, ...stored, kind: 'input', filename },
  });
  await writer.keep();
  return artifact_id;
}

async function complete(worker: TestWorker, lease: LeasedTask, result: object = RESULT) {
  await worker.start(lease);
  await worker.complete(lease, result);
}

/** A cluster with a worker that has computed a job, and what of it the test goes on with. */
async function computed(t: TestContext, differs: Record<string, unknown> = {}, result: object = RESULT) {
  const cluster = await TestCluster.start(t);
  const worker = await cluster.register({ slots_total: 4 });
  const job = await cluster.submit(known(differs));
  const lease = await worker.leaseOne();
  await complete(worker, lease, result);
  assert.equal((await cluster.job(job.id)).status, 'succeeded');
  return { cluster, worker, job, task: lease.task_id };
}

/** Whether a job is answered at once with what was computed before. */
async function isReused(cluster: TestCluster, document: Record<string, unknown>, by = cluster.principal) {
  const { id, aggregate } = await cluster.submit(document, by);
  const task = await cluster.onlyTask(id);
  assert.equal(task.status === 'succeeded', task.reused_from != null);
  assert.equal(aggregate.num_reused, task.reused_from ? 1 : 0);
  return task.reused_from != null;
}

describe('a task that was computed before', () => {
  test('is answered with that result and model at once, as if it had been computed anew, and says whose', async (t) => {
    const cluster = await TestCluster.start(t);
    const worker = await cluster.register();
    const first = await cluster.submit(known());
    const lease = await worker.run();
    const model = await upload(worker, lease.task_id, 'model', randomBytes(2000));
    const other = await upload(worker, lease.task_id, 'output', randomBytes(10));
    await worker.complete(lease, { ...RESULT, artifacts: { model } });
    const again = await cluster.submit(asking({ name: 'again', rank_metric: ['other', 'cv_rmse'] }));
    assert.equal(again.status, 'succeeded');
    const task = await cluster.onlyTask(again.id);
    const reused_from = { job_id: first.id, task_id: lease.task_id };
    assert.deepEqual(
      [task.status, task.attempt, task.worker_id, task.started_at, task.error, task.reused_from],
      ['succeeded', 0, null, null, null, reused_from],
    );
    assert.deepEqual(task.result, (await cluster.onlyTask(first.id)).result);
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

  test('is a part of a sweep that grew: only what is new is computed', async (t) => {
    const cluster = await TestCluster.start(t, { sliceSize: 2 });
    const worker = await cluster.register({ slots_total: 10 });
    const sweep = (n: number, differs: object = {}) => {
      const pipelines = Array.from({ length: n }, (_, i) => inline({ pls: i }));
      return known({ pipeline: undefined, pipelines, ...differs });
    };
    await cluster.submit(sweep(4));
    for (const [i, lease] of (await worker.lease(10)).entries())
      await complete(worker, lease, { demo_version: '1.0', metrics: { best_rmse: i + 1 } });
    const seen: Record<string, number>[] = [];
    const stop = cluster.port.events.subscribe((events) => {
      if (events.some(({ type }) => type === 'task_reused')) seen.push(cluster.port.reads.stateCounts('job'));
    });
    const grown = await cluster.submit(sweep(7, { reuse: true }));
    stop();
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

  test('is computed anew unless the job asks for it', async (t) => {
    const { cluster } = await computed(t);
    assert.equal(await isReused(cluster, known()), false);
    assert.equal(await isReused(cluster, known({ reuse: false })), false);
    assert.equal(await isReused(cluster, known({ reuse: true })), true);
  });
});

describe('two tasks are equal', () => {
  const same: Record<string, Record<string, unknown>> = {
    'the names of pipeline and dataset': { pipeline: inline({ steps: ['snv', 1] }, { name: 'other' }) },
    'how the job is called and how urgent it is': { name: 'x', priority: 3 },
    'what its results are ranked by': { rank_metric: 'cv_rmse' },
    'how often and for how long it is tried': { retry: { max_attempts: 1 }, timeout_seconds: 5 },
    'the order of the keys of its params': { params: { random_state: 42 } },
    'defaults that are written out': { outputs: { export_best_model: true } },
    'the constraint that leads to the same version': { requirements: { packages: { demo: '>=1' } } },
    'where it may run': { requirements: { min_memory_gb: 0 } },
  };
  for (const [what, differs] of Object.entries(same)) {
    test(`whatever ${what}`, async (t) => {
      const { cluster } = await computed(t);
      assert.equal(await isReused(cluster, asking(differs)), true);
    });
  }

  const different: Record<string, Record<string, unknown>> = {
    'the type': { type: 'other.run' },
    'the pipeline': { pipeline: inline({ steps: ['snv', 2] }) },
    'a number that is written as another kind of number': { pipeline: inline(1) },
    'the hash of the dataset': { dataset: { ...DATASET, sha256: 'b'.repeat(64) } },
    'a parameter': { params: { random_state: 43 } },
    'a parameter that is left out': { params: {} },
    'the outputs': { outputs: { export_best_model: false } },
    'whether its workspace is kept': { outputs: { keep_task_workspace: true } },
    'what the client gives its workers beside': { native_payload: { a: 1 } },
    'the versions of other packages': { requirements: { packages: { numpy: '>=2' } } },
  };
  for (const [what, differs] of Object.entries(different)) {
    test(`not where ${what} differs`, async (t) => {
      const { cluster } = await computed(t);
      await cluster.register({ version: { packages: { demo: '1.0', other: '1.0', numpy: '2.0' } } });
      assert.equal(await isReused(cluster, asking()), true);
      assert.equal(await isReused(cluster, asking(differs)), false);
    });
  }

  test('not where a number is written otherwise: 1 is not 1.0 to a library', async (t) => {
    const { cluster, worker } = await computed(t, { params: { alpha: 1 } });
    const key = (text: string) => digestJob(asking() as never, text).contents?.common;
    const text = (alpha: string) =>
      JSON.stringify(asking({ params: { alpha: 1 } })).replace('"alpha":1', `"alpha":${alpha}`);
    assert.notEqual(key(text('1')), key(text('1.0')));
    assert.equal(key(text('1')), key(text('1 ')));
    assert.deepEqual(await worker.lease(), []);
    assert.equal(await isReused(cluster, asking({ params: { alpha: 1 } })), true);
  });

  const byPath: Record<string, Record<string, unknown>> = {
    'a pipeline by its path': { pipeline: { kind: 'path', path: '/p.yaml' } },
    'code that a worker has installed': {
      pipeline: { kind: 'python_entrypoint', entrypoint: 'lab.recipes' },
    },
    'a dataset by its path': { dataset: { kind: 'shared_path', path: '/d' } },
    'a dataset of the worker': { dataset: { kind: 'worker_local', path: '/d' } },
    'a dataset of a catalog without its hash': { dataset: { kind: 'catalog', catalog_id: 'corn@1' } },
  };
  for (const [what, differs] of Object.entries(byPath)) {
    test(`not where it is known by no content: ${what}`, async (t) => {
      const { cluster } = await computed(t, differs);
      assert.equal(await isReused(cluster, asking(differs)), false);
    });
  }

  test('by the bytes of what was uploaded, whichever artifact they are', async (t) => {
    const cluster = await TestCluster.start(t);
    const worker = await cluster.register();
    const parts = async (pipeline: string, data: string, name = 'p.yaml') => ({
      pipeline: { kind: 'artifact', artifact_id: await input(cluster, pipeline, name) },
      dataset: { kind: 'artifact', artifact_id: await input(cluster, data, 'd.zip') },
    });
    await cluster.submit(known(await parts('pls', 'spectra')));
    await complete(worker, await worker.leaseOne());
    assert.equal(await isReused(cluster, asking(await parts('pls', 'spectra'))), true);
    assert.equal(await isReused(cluster, asking(await parts('pls2', 'spectra'))), false);
    assert.equal(await isReused(cluster, asking(await parts('pls', 'spectra2'))), false);
    assert.equal(await isReused(cluster, asking(await parts('pls', 'spectra', 'p.json'))), false);
  });

  test('by the bundle of their code, and by what of it is called', async (t) => {
    const cluster = await TestCluster.start(t);
    const worker = await cluster.register();
    const code = async (entrypoint: string, bundle: string) => ({
      pipeline: {
        ...{ kind: 'python_entrypoint', entrypoint },
        bundle_artifact_id: await input(cluster, bundle, 'b.zip'),
      },
    });
    await cluster.submit(known(await code('lab', 'v1')));
    await complete(worker, await worker.leaseOne());
    assert.equal(await isReused(cluster, asking(await code('lab:build_pipeline', 'v1'))), true);
    assert.equal(await isReused(cluster, asking(await code('lab:other', 'v1'))), false);
    assert.equal(await isReused(cluster, asking(await code('lab', 'v2'))), false);
  });
});

describe('the version of the library', () => {
  test('is the one that all live workers declare that may run the task, else the one it pins', async (t) => {
    const { cluster, worker } = await computed(t);
    const pinned = asking({ requirements: { packages: { demo: '==1.0' } } });
    assert.equal(await isReused(cluster, asking()), true);
    const newer = await cluster.register({ version: { packages: { demo: '1.1' } } });
    assert.equal(await isReused(cluster, asking()), false, 'two versions');
    assert.equal(await isReused(cluster, pinned), true, 'of the two only one may run it');
    const constrained = { requirements: { packages: { demo: '<1.1' } } };
    assert.equal(await isReused(cluster, asking(constrained)), true);
    await worker.heartbeat([], 0, undefined, 'draining');
    assert.equal(await isReused(cluster, asking()), false, 'the newer one remains');
    await newer.heartbeat([], 0, undefined, 'draining');
    assert.equal(await isReused(cluster, asking()), false, 'nobody is left');
    assert.equal(await isReused(cluster, pinned), true, 'it says it itself');
    const bounded = { requirements: { packages: { demo: '==1.*' } } };
    assert.equal(await isReused(cluster, asking(bounded)), false, 'it says several');
  });

  test('counts as the result says it, and where it says none the result is not used again', async (t) => {
    const said = async (result: object) =>
      isReused((await computed(t, {}, { metrics: {}, ...result })).cluster, asking());
    assert.equal(await said({ demo_version: '1.0' }), true);
    assert.equal(await said({ demo_version: 'v1.0' }), true);
    assert.equal(await said({ demo_version: '0.9' }), false);
    assert.equal(await said({ demo_version: 'unknown' }), false);
    assert.equal(await said({ demo_version: 7 }), false);
    assert.equal(await said({}), false);
  });

  test('is not known where a worker declares none', async (t) => {
    const { cluster } = await computed(t);
    await cluster.register({ version: { packages: { demo: 'unknown' } } });
    assert.equal(await isReused(cluster, asking()), false);
  });
});

describe('whose results', () => {
  test('are used again is for the job to say: those of its owner, or those of anybody', async (t) => {
    const { cluster } = await computed(t);
    const ann = principal('ann');
    assert.equal(await isReused(cluster, asking(), ann), false);
    assert.equal(await isReused(cluster, asking({ reuse: 'any' }), ann), true);
  });

  test('are the own ones first', async (t) => {
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
        const cluster = await TestCluster.start(t);
        const worker = await cluster.register();
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

describe('a pinned fingerprint', () => {
  test('is never answered with the result of another pipeline', async (t) => {
    const pin = `sha256:${'1'.repeat(64)}`;
    const { cluster } = await computed(t, {}, { ...RESULT, pipeline_fingerprint: pin });
    const pinned = (expected_fingerprint: string) =>
      asking({ pipeline: inline({ steps: ['snv', 1] }, { expected_fingerprint }) });
    assert.equal(await isReused(cluster, pinned(pin)), true);
    assert.equal(await isReused(cluster, pinned(`sha256:${'2'.repeat(64)}`)), false);
  });
});

describe('what failed or was cancelled', () => {
  test('is no result, and neither is one that came after the job was cancelled', async (t) => {
    const cluster = await TestCluster.start(t);
    const worker = await cluster.register();
    await cluster.submit(known({ retry: { max_attempts: 1 } }));
    await worker.fail(await worker.run());
    assert.equal(await isReused(cluster, asking({ name: 'failed' })), false);
    const lease = await worker.run();
    await cluster.cancel(JSON.parse(lease.payload.text).job_id);
    await worker.complete(lease, RESULT);
    assert.equal(await isReused(cluster, asking()), false);
  });

  test('is computed when it is retried, also where an equal task has succeeded meanwhile', async (t) => {
    const cluster = await TestCluster.start(t);
    const worker = await cluster.register({ slots_total: 2 });
    const { id } = await cluster.submit(asking({ retry: { max_attempts: 1 } }));
    await worker.fail(await worker.run());
    await cluster.submit(known());
    await complete(worker, await worker.leaseOne());
    await cluster.retry(id);
    assert.equal((await cluster.onlyTask(id)).status, 'queued');
    assert.equal((await worker.leaseOne()).task_id, (await cluster.onlyTask(id)).id);
  });
});

describe('a job whose tasks are being looked up, slice by slice', () => {
  const MANY = 7;
  const many = (differs: object = {}) =>
    known({
      pipeline: undefined,
      pipelines: Array.from({ length: MANY }, (_, i) => inline(i)),
      ...differs,
    });

  async function before(t: TestContext) {
    const cluster = await TestCluster.start(t, { sliceSize: 2 });
    const worker = await cluster.register({ slots_total: 20 });
    await cluster.submit(many());
    for (const lease of await worker.lease(20)) await complete(worker, lease);
    return { cluster, worker };
  }

  /** Every commit from now on fails but for so many. */
  const failAfter = (cluster: TestCluster, passing: number) => {
    let left = passing;
    cluster.faults.beforeCommit = async () => {
      if (left-- <= 0) throw Object.assign(new Error('SQLITE_FULL'), { code: 'SQLITE_FULL' });
    };
  };

  for (const commits of [1, 2, 3]) {
    test(`goes on after the server went down behind commit ${commits}`, async (t) => {
      const { cluster } = await before(t);
      failAfter(cluster, commits);
      // Certain from the first commit on, it is answered although it is not done.
      const { id } = await cluster.submit(many({ reuse: true }));
      await cluster.restart();
      const [queued] = await cluster.seen.jobs({ limit: 1 });
      assert.deepEqual([queued?.id, queued?.status], [id, 'queued']);
      delete cluster.faults.beforeCommit;
      await cluster.restart();
      for (let job = await cluster.job(id); job.status !== 'succeeded'; job = await cluster.job(id)) {
        assert.equal(job.status, 'queued');
        await cluster.clock.advance(0.1);
      }
      assert.equal((await cluster.job(id)).aggregate.num_reused, MANY);
      const types = await cluster.eventTypes(id);
      assert.equal(types.filter((type) => type === 'task_reused').length, MANY);
    });
  }

  test('is cancelled in the middle of it: what was answered stays, what was not is cancelled', async (t) => {
    const { cluster, worker } = await before(t);
    let cancelled: Promise<unknown> | undefined;
    let commits = 0;
    cluster.faults.afterCommit = async () => {
      const [job] = await cluster.seen.jobs({ limit: 1 });
      if (++commits === 2 && job) cancelled = cluster.cancel(job.id);
    };
    const { id } = await cluster.submit(many({ reuse: true }));
    await cancelled;
    const { status, aggregate } = await cluster.job(id);
    assert.equal(status, 'cancelled');
    assert.ok(aggregate.num_reused > 0 && aggregate.num_cancelled > 0);
    assert.equal(aggregate.num_reused + aggregate.num_cancelled, MANY);
    assert.deepEqual(await worker.lease(20), []);
  });

  test('keeps what is new from workers until the last was looked up, and gives it to them then', async (t) => {
    const { cluster, worker } = await before(t);
    const waiting = worker.lease(20, 30);
    const pipelines = Array.from({ length: MANY + 3 }, (_, i) => inline(MANY + 2 - i));
    const { id } = await cluster.submit(many({ pipelines, reuse: true }));
    const leased = await waiting;
    assert.equal(leased.length, 3);
    const types = await cluster.eventTypes(id);
    assert.ok(types.lastIndexOf('task_reused') < types.indexOf('task_leased'), types.join());
  });
});

describe('an idempotency key', () => {
  test('tells a job that asks for reuse from one that does not', async (t) => {
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
