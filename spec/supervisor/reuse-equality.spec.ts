import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { digestJob } from '../../machines/submission/job-digest.ts';
import { type TestCluster, withWorker } from '../support/cluster.ts';
import { asking, complete, computed, DATASET, inline, isReused, known, RESULT } from './reuse-support.ts';

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
    'the native payload': { native_payload: { a: 1 } },
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
    test(`not where the content is not known: ${what}`, async (t) => {
      const { cluster } = await computed(t, differs);
      assert.equal(await isReused(cluster, asking(differs)), false);
    });
  }

  test('where the uploaded bytes are equal, whichever artifacts hold them', async (t) => {
    const { cluster, worker } = await withWorker(t);
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

  test('where the bundle of their code and its entry point are equal', async (t) => {
    const { cluster, worker } = await withWorker(t);
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
  test('is the one that all live workers that may run the task declare, else the one that the job pins', async (t) => {
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

  test('is taken from the result, and a result without one is not reused', async (t) => {
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
