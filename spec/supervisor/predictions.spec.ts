import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { ClusterError, type ErrorCode } from '../../machines/protocol/errors.ts';
import { JobSpec } from '../../machines/schema/job.ts';
import { validator } from '../../machines/schema/validate.ts';
import { digestJob } from '../../machines/submission/job-digest.ts';
import { clusterKeeping, DAY, done, isThere, upload } from '../retention/support.ts';
import { job, type TestCluster } from '../support/cluster.ts';
import { sha256 } from '../support/sha256.ts';
import type { TestWorker } from '../support/test-worker.ts';
import { textOf } from '../support/views.ts';

const PREDICTS = {
  version: { packages: { demo: '1.0' } },
  labels: { 'predict.demo': 'true' },
  slots_total: 4,
};

const predicting = (model: unknown, differs: Record<string, unknown> = {}) => ({
  type: 'demo.predict',
  model,
  dataset: { kind: 'shared_path', path: '/data/new', name: 'new' },
  ...differs,
});
const bestOf = (job_id: string) => ({ kind: 'best_model', job_id });

/** A job that has made a model, and a worker that predicts. */
async function trained(t: TestContext) {
  const { cluster, worker } = await clusterKeeping(t, {});
  const first = await done(cluster, worker);
  return { cluster, worker, ...first, predictor: await cluster.register(PREDICTS) };
}

const refuses = (asked: Promise<unknown>, code: ErrorCode, words: RegExp) =>
  assert.rejects(asked, (error: unknown) => {
    assert.ok(error instanceof ClusterError);
    assert.equal(error.code, code);
    assert.match(error.message, words);
    return true;
  });

async function submitText(cluster: TestCluster, text: string, allow_code?: boolean): Promise<string> {
  const checked = validator(JobSpec)(JSON.parse(text));
  assert.ok(checked.ok);
  const digest = digestJob(checked.value, text);
  const { principal } = cluster;
  return (await cluster.port.send({ type: 'submit_job', principal, job: digest, allow_code })).job_id;
}

const payloadOf = async (worker: TestWorker) =>
  (await worker.run()).payload.parse() as Record<string, unknown>;

describe('a job that predicts', () => {
  test('has one task for each dataset, which gets the model in the place of a pipeline', async (t) => {
    const { cluster, model, predictor } = await trained(t);
    const datasets = ['a', 'b'].map((name) => ({ kind: 'shared_path', path: `/${name}`, name }));
    const { id, scheduler } = await cluster.submit(
      predicting({ kind: 'artifact', artifact_id: model }, { dataset: undefined, datasets }),
    );
    assert.equal(scheduler.task_granularity, 'whole_demo_predict');
    const payload = await payloadOf(predictor);
    assert.equal(payload.type, 'demo.predict');
    assert.deepEqual(payload.model, { kind: 'artifact', artifact_id: model });
    assert.equal('pipeline' in payload, false);
    const tasks = await cluster.tasks(id);
    assert.deepEqual(
      tasks.map((task) => [task.pipeline_label, task.dataset_label]),
      [
        [model, 'a'],
        [model, 'b'],
      ],
    );
  });

  test('waits for a worker whose runner predicts: others would run it', async (t) => {
    const { cluster, worker, id } = await trained(t);
    const { id: waiting } = await cluster.submit(predicting(bestOf(id)));
    assert.deepEqual(await worker.lease(), []);
    const { requirements, pipeline_label } = await cluster.onlyTask(waiting);
    assert.deepEqual(requirements.labels, { 'predict.demo': 'true' });
    assert.equal(pipeline_label, `best of ${id}`);
  });

  test('has the best model of a job as it is at the time, also after a restart', async (t) => {
    const { cluster, model, id, predictor } = await trained(t);
    const text = `{"type":"demo.predict","model":{"kind":"best_model","job_id":"${id}"},"dataset":{"kind":"shared_path","path":"/d"},"params":{"a":1.0}}`;
    const predicts = await submitText(cluster, text);
    const stored = text.replace('"}', `","artifact_id":"${model}"}`);
    assert.equal(await textOf(cluster.port.reads.jobRequest(predicts)), stored);
    await cluster.restart();
    const again = await cluster.register({ ...PREDICTS, name: 'again' });
    assert.notEqual(again.id, predictor.id);
    assert.deepEqual((await payloadOf(again)).model, { ...bestOf(id), artifact_id: model });
  });

  test('finds the best anew when it is submitted anew, whatever is written beside', async (t) => {
    const { cluster, model, id, predictor } = await trained(t);
    await cluster.submit(predicting({ ...bestOf(id), artifact_id: 'art_of_yesterday' }));
    assert.deepEqual((await payloadOf(predictor)).model, { ...bestOf(id), artifact_id: model });
  });

  test('is the same job under the same key, whether the server has found the model or not', async (t) => {
    const { cluster, model, id } = await trained(t);
    const first = await cluster.submit(predicting(bestOf(id), { idempotency_key: 'k' }));
    const found = { ...bestOf(id), artifact_id: model };
    assert.equal((await cluster.submit(predicting(found, { idempotency_key: 'k' }))).id, first.id);
    await refuses(
      cluster.submit(predicting({ kind: 'artifact', artifact_id: model }, { idempotency_key: 'k' })),
      'idempotency_conflict',
      /with another body/,
    );
  });

  test('ranks by the error where reference values were there, and misses nothing where none were', async (t) => {
    const { cluster, id, predictor } = await trained(t);
    const measured = await cluster.submit(predicting(bestOf(id)));
    await predictor.complete(await predictor.run(), { metrics: { rmse: 0.25, r2: 0.9 } });
    const { aggregate, warnings } = await cluster.job(measured.id);
    assert.deepEqual([aggregate.rank_metric, aggregate.best_metric, warnings], ['rmse', 0.25, []]);
    const unknown = await cluster.submit(predicting(bestOf(id)));
    await predictor.complete(await predictor.run(), { metrics: {} });
    const job = await cluster.job(unknown.id);
    assert.deepEqual([job.status, job.aggregate.best_metric, job.warnings], ['succeeded', null, []]);
  });

  test('is answered with what was predicted before by the same model of the same data, where it asks for that', async (t) => {
    const { cluster, id, model } = await trained(t);
    const dataset = { kind: 'catalog', catalog_id: 'new@1', sha256: 'a'.repeat(64) };
    const asking = (of: unknown) => predicting(of, { dataset, reuse: true });
    const first = await cluster.submit(asking(bestOf(id)));
    const catalogued = await cluster.register({ ...PREDICTS, capabilities: { catalog: true } });
    await catalogued.complete(await catalogued.run(), { demo_version: '1.0', metrics: { rmse: 1 } } as never);
    const again = await cluster.submit(asking({ kind: 'artifact', artifact_id: model }));
    assert.equal(again.status, 'succeeded', 'by content, however the model is named');
    assert.equal((await cluster.onlyTask(again.id)).reused_from?.job_id, first.id);
  });
});

describe('the best model of a job', () => {
  test('is not known before the job has ended', async (t) => {
    const { cluster, worker } = await trained(t);
    const { id } = await cluster.submit();
    await refuses(
      cluster.submit(predicting(bestOf(id))),
      'job_not_ended',
      /is queued; its best model is known when it has ended/,
    );
    await worker.run();
    await refuses(cluster.submit(predicting(bestOf(id))), 'job_not_ended', /is running/);
  });

  test('is refused with a message where there is none', async (t) => {
    const { cluster, worker, id, predictor } = await trained(t);
    const refused = (of: string, words: RegExp, differs = {}) =>
      refuses(cluster.submit(predicting(bestOf(of), differs)), 'invalid_body', words);
    await refused('job_of_nobody', /\/model\/job_id no job with id 'job_of_nobody'/);
    await refused(id, /is of type demo\.run; other\.predict needs a model of other/, {
      type: 'other.predict',
    });

    const unranked = await cluster.submit();
    const lease = await worker.run();
    const model = await upload(cluster, 'unranked', { lease, role: 'model', worker });
    await worker.complete(lease, { metrics: {}, artifacts: { model } });
    await refused(unranked.id, /none of its tasks reported 'best_rmse'.*name the artifact/);

    const bare = await cluster.submit();
    await worker.complete(await worker.run(), { metrics: { best_rmse: 1 } });
    await refused(bare.id, /its best task, task_\w+, kept none/);

    const failed = await cluster.submit();
    await worker.fail(await worker.run(), { retriable: false });
    await refused(failed.id, /it failed$/);

    const predicts = await cluster.submit(predicting(bestOf(id)));
    await predictor.complete(await predictor.run());
    await refused(predicts.id, /predicts and has made no model/);
  });

  test('stays as long as a job is there that predicts with it, also when its own job is deleted', async (t) => {
    const { cluster, id, predictor, sha256 } = await trained(t);
    const predicts = await cluster.submit(predicting(bestOf(id)));
    await predictor.complete(await predictor.run());
    await cluster.delete(id);
    await cluster.pass(3 * DAY);
    assert.ok(await isThere(cluster, sha256));
    await cluster.delete(predicts.id);
    await cluster.pass(3 * DAY);
    assert.equal(await isThere(cluster, sha256), false);
  });

  test('is refused once it was deleted', async (t) => {
    const { cluster, worker } = await clusterKeeping(t, { keepArtifacts: 2 * DAY });
    const { id, sha256 } = await done(cluster, worker);
    await cluster.pass(4 * DAY);
    assert.equal(await isThere(cluster, sha256), false);
    await refuses(
      cluster.submit(predicting(bestOf(id))),
      'invalid_body',
      /was deleted, as the server is set/,
    );
  });
});

describe('a model that was uploaded', () => {
  const text = (type: string, id: string) =>
    JSON.stringify(predicting({ kind: 'artifact', artifact_id: id }, { type }));

  test('is code, and taken only by servers and workers that run code', async (t) => {
    const { cluster, predictor } = await trained(t);
    const model = await upload(cluster, 'a pickle');
    await refuses(
      submitText(cluster, text('demo.predict', model)),
      'python_jobs_disabled',
      /a model of demo is code to whoever loads it.*--allow-python-jobs/,
    );
    const id = await submitText(cluster, text('demo.predict', model), true);
    const { requirements } = await cluster.onlyTask(id);
    assert.deepEqual(requirements.capabilities, { python_entrypoint: true });
    await cluster.register({
      ...PREDICTS,
      worker_id: predictor.id,
      capabilities: { python_entrypoint: false },
    });
    assert.deepEqual(await predictor.lease(), []);
  });

  test('is code like one that code of its submitter made, and like what a task kept as something else than its model', async (t) => {
    const { cluster, worker } = await trained(t);
    const made = await done(cluster, worker, {
      pipeline: { kind: 'python_entrypoint', entrypoint: 'lab:build' },
    });
    for (const model of [
      bestOf(made.id),
      ...[made.model, made.logs].map((artifact_id) => ({ kind: 'artifact', artifact_id })),
    ]) {
      const asked = JSON.stringify(predicting(model));
      await refuses(submitText(cluster, asked), 'python_jobs_disabled', /or made by code/);
      const { requirements } = await cluster.onlyTask(await submitText(cluster, asked, true));
      assert.deepEqual(requirements.capabilities, { python_entrypoint: true });
    }
  });

  test('is taken by all where a job of this server has made the same bytes, from a pipeline that is no code', async (t) => {
    const { cluster, worker } = await trained(t);
    const made = async (bytes: string, differs = {}) => {
      await done(cluster, worker, differs, bytes);
      return text('demo.predict', await upload(cluster, bytes));
    };
    const id = await submitText(cluster, await made('a model'));
    assert.equal((await cluster.onlyTask(id)).requirements.capabilities, undefined);
    const code = { pipeline: { kind: 'python_entrypoint', entrypoint: 'lab:build' } };
    await refuses(submitText(cluster, await made('of code', code)), 'python_jobs_disabled', /made by code/);
  });

  test('is plain data of mljs, and taken by all', async (t) => {
    const { cluster } = await trained(t);
    const model = await upload(cluster, '{}');
    const id = await submitText(cluster, text('mljs.predict', model));
    assert.equal((await cluster.onlyTask(id)).requirements.capabilities, undefined);
  });

  test('has to be there', async (t) => {
    const { cluster } = await trained(t);
    await refuses(
      cluster.submit(predicting({ kind: 'artifact', artifact_id: 'art_none' })),
      'invalid_body',
      /\/model\/artifact_id no artifact with id 'art_none'/,
    );
    assert.equal(await isThere(cluster, sha256('none')), false);
  });
});

describe('a specification that is only checked', () => {
  test('is refused in the words in which it would be if it were submitted, and leaves nothing', async (t) => {
    const { cluster, id, model } = await trained(t);
    const check = (type: string, of: unknown) => {
      const asked = JSON.stringify(predicting(of, { type }));
      const checked = validator(JobSpec)(JSON.parse(asked));
      assert.ok(checked.ok);
      return cluster.port.send({ type: 'check_job', job: digestJob(checked.value, asked) });
    };
    const uploaded = { kind: 'artifact', artifact_id: await upload(cluster, 'a pickle') };
    const jobs = JSON.parse(await textOf(cluster.port.reads.jobs({ limit: 10 }))).length;
    await refuses(check('demo.predict', uploaded), 'python_jobs_disabled', /code to whoever loads it/);
    await refuses(check('demo.predict', bestOf('job_x')), 'invalid_body', /no job with id 'job_x'/);
    const none = { kind: 'artifact', artifact_id: 'art_none' };
    await refuses(check('demo.predict', none), 'invalid_body', /no artifact with id 'art_none'/);
    assert.deepEqual(await check('demo.predict', bestOf(id)), { ok: true });
    assert.deepEqual(await check('demo.predict', { kind: 'artifact', artifact_id: model }), { ok: true });
    assert.equal(JSON.parse(await textOf(cluster.port.reads.jobs({ limit: 10 }))).length, jobs);
  });
});

describe('a specification that mixes running and predicting', () => {
  const faultsOf = (document: Record<string, unknown>) => {
    const checked = validator(JobSpec)(document);
    return checked.ok ? [] : checked.faults.map(({ path, message }) => `${path} ${message}`);
  };
  const model = { kind: 'artifact', artifact_id: 'art_1' };

  test('is refused with what has to go, or is missing', () => {
    assert.deepEqual(faultsOf(job({ model })), [
      '/model only a job that predicts has a model; its type is <lib>.predict',
    ]);
    assert.deepEqual(faultsOf(job({ type: 'demo.predict' })), [
      '/pipeline a job of type demo.predict predicts with a model and runs no pipelines; leave it out',
      '/model is required, since the job predicts',
    ]);
    assert.deepEqual(faultsOf(predicting(model, { select: {} })), [
      '/select a job of type demo.predict predicts with a model and runs no pipelines; leave it out',
    ]);
    assert.match(
      faultsOf(predicting({ kind: 'best', job_id: 'x' })).join(),
      /\/model\/kind must be one of: artifact, best_model/,
    );
  });
});
