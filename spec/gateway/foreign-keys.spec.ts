import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { foreigner, JOB, type Json } from './foreign.ts';

/** Bodies under one key are compared by their meaning (docs/protocol.md#jobs). */
const KEY = { idempotency_key: 'k' };

const SAME: [string, Json, Json][] = [
  ['null and a field that is left out', {}, { name: null, params: null, retry: null, native_payload: null }],
  ['a default and a field that is left out', {}, { priority: 0, params: {}, retry: { max_attempts: 2 } }],
  [
    'defaults within objects, and none,',
    {},
    { outputs: { export_best_model: true }, retry: { backoff_seconds: 0 } },
  ],
  [
    'requirements that require nothing, and none,',
    {},
    { requirements: { labels: {}, packages: {}, min_gpu_count: 0 } },
  ],
  ['the default direction of a metric, and none,', {}, { rank_metric: 'best_rmse', rank_mode: 'min' }],
  [
    'members in another order',
    { params: { a: 1, b: { c: 2, d: 3 } } },
    { params: { b: { d: 3, c: 2 }, a: 1 } },
  ],
  ['null in a reference', {}, { dataset: { path: '/data/corn', name: null, kind: 'shared_path' } }],
  ['both names of the native payload', { native_payload: { a: [1] } }, { nativePayload: { a: [1] } }],
  [
    'tags in any order and an empty note, and the tags alone,',
    { tags: ['a', 'b'] },
    { tags: ['b', 'a', 'b'], note: '' },
  ],
  ['no tags in any way', { tags: null }, { tags: [] }],
  [
    'members that mean nothing to this server, and none,',
    {},
    { parity: 'strict', submission: { at: 1 }, scheduler: {} },
  ],
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
  ['a tag', { tags: ['a'] }, { tags: ['a', 'b'] }],
  ['a note', {}, { note: 'x' }],
  ['a requirement', {}, { requirements: { labels: { site: 'a' } } }],
  ['the native payload', { native_payload: { a: 1 } }, { native_payload: { a: 2 } }],
  ['an unknown field', {}, { retires: 3 }],
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

  it('an integer and a float of the same value are different, but not 1.0 and 1.00', async (t) => {
    const client = await foreigner(t);
    const body = (number: string) =>
      JSON.stringify({ ...JOB, ...KEY, params: { a: 0 } }).replace('"a":0', `"a":${number}`);
    const job = await client.get('POST /v1/jobs', body('1.0'));
    assert.equal((await client.get('POST /v1/jobs', body('1.00'))).id, job.id);
    assert.deepEqual(await client.refusal('POST /v1/jobs', body('1')), [409, 'idempotency_conflict']);
  });

  it('the default entry point of a module, named or left out, is the same', async (t) => {
    const client = await foreigner(t, { allowPythonJobs: true });
    const of = (entrypoint: string) =>
      client.submit({ ...KEY, pipeline: { kind: 'python_entrypoint', entrypoint } });
    assert.equal((await of('lab.recipes')).id, (await of('lab.recipes:build_pipeline')).id);
  });
});
