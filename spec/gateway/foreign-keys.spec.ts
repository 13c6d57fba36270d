import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { foreigner, JOB, type Json } from './foreign.ts';

/** Bodies under one key: what is compared is what they mean (docs/protocol.md#jobs). */
const KEY = { idempotency_key: 'k' };

const SAME: [string, Json, Json][] = [
  ['null and a field that is left out', {}, { name: null, params: null, retry: null, native_payload: null }],
  ['a default and a field that is left out', {}, { priority: 0, params: {}, retry: { max_attempts: 2 } }],
  ['defaults within', {}, { outputs: { export_best_model: true }, retry: { backoff_seconds: 0 } }],
  ['that nothing is required', {}, { requirements: { labels: {}, packages: {}, min_gpu_count: 0 } }],
  ['the direction of a metric, and none', {}, { rank_metric: 'best_rmse', rank_mode: 'min' }],
  [
    'members in another order',
    { params: { a: 1, b: { c: 2, d: 3 } } },
    { params: { b: { d: 3, c: 2 }, a: 1 } },
  ],
  ['null in a reference', {}, { dataset: { path: '/data/corn', name: null, kind: 'shared_path' } }],
  ['both names of what goes to the worker', { native_payload: { a: [1] } }, { nativePayload: { a: [1] } }],
  ['what means nothing here', {}, { parity: 'strict', submission: { at: 1 }, scheduler: {} }],
];

const OTHER: [string, Json, Json][] = [
  ['a name', {}, { name: 'x' }],
  ['a priority', {}, { priority: 1 }],
  ['a type', {}, { type: 'nirs4all.run' }],
  ['a parameter', {}, { params: { a: null } }],
  ['the value of a parameter', { params: { a: 1 } }, { params: { a: 1.5 } }],
  ['a pipeline', {}, { pipeline: { kind: 'inline_json', inline: [{ step: 'msc' }] } }],
  ['null within a pipeline', {}, { pipeline: { kind: 'inline_json', inline: [{ step: 'snv', a: null }] } }],
  ['a dataset', {}, { dataset: { kind: 'shared_path', path: '/data/oil' } }],
  ['a requirement', {}, { requirements: { labels: { site: 'a' } } }],
  ['what goes to the worker', { native_payload: { a: 1 } }, { native_payload: { a: 2 } }],
  ['a field that nobody knows', {}, { retires: 3 }],
];

describe('under one idempotency key', () => {
  for (const [what, first, second] of SAME) {
    it(`${what} are the same job`, async (t) => {
      const client = await foreigner(t);
      const job = await client.submit({ ...KEY, ...first });
      assert.equal((await client.submit({ ...KEY, ...second })).id, job.id);
      assert.equal((await client.submit({ ...second, ...KEY })).id, job.id);
      assert.equal((await client.get('GET /v1/jobs')).length, 1);
    });
  }

  for (const [what, first, second] of OTHER) {
    it(`${what} makes another body, which is 409`, async (t) => {
      const client = await foreigner(t);
      await client.submit({ ...KEY, ...first });
      const changed = { ...JOB, ...KEY, ...second };
      assert.deepEqual(await client.refusal('POST /v1/jobs', changed), [409, 'idempotency_conflict']);
    });
  }

  it('numbers are told apart as they are written', async (t) => {
    const client = await foreigner(t);
    const body = (number: string) =>
      JSON.stringify({ ...JOB, ...KEY, params: { a: 0 } }).replace('"a":0', `"a":${number}`);
    const job = await client.get('POST /v1/jobs', body('1.0'));
    assert.equal((await client.get('POST /v1/jobs', body('1.00'))).id, job.id);
    assert.deepEqual(await client.refusal('POST /v1/jobs', body('1')), [409, 'idempotency_conflict']);
  });

  it('two clients that submit at the same moment get one job', async (t) => {
    const client = await foreigner(t);
    const jobs = await Promise.all(
      [{}, { name: null }, { priority: 0 }].map((c) => client.submit({ ...KEY, ...c })),
    );
    assert.equal(new Set(jobs.map(({ id }) => id)).size, 1);
  });

  it('the entry point that is named and the one that is meant are the same', async (t) => {
    const client = await foreigner(t, { allowPythonJobs: true });
    const of = (entrypoint: string) =>
      client.submit({ ...KEY, pipeline: { kind: 'python_entrypoint', entrypoint } });
    assert.equal((await of('lab.recipes')).id, (await of('lab.recipes:build_pipeline')).id);
  });
});
