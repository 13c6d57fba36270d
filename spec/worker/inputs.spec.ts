import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { failedBy } from '../../actors/worker/attempt/failure.ts';
import { attemptPaths, safeName } from '../../actors/worker/attempt/paths.ts';
import { InputError } from '../../actors/worker/errors.ts';
import { Artifacts } from '../../actors/worker/inputs/artifacts.ts';
import { InputCache } from '../../actors/worker/inputs/cache/cache.ts';
import { safeFileName } from '../../actors/worker/inputs/download.ts';
import type { InputContext } from '../../actors/worker/inputs/input-context.ts';
import { materialize, splitParams } from '../../actors/worker/inputs/materialize.ts';
import { LIMITS } from '../../actors/worker/inputs/zip.ts';
import { ClusterClient } from '../../gateway/client/client.ts';
import { at } from '../../machines/json/raw.ts';
import { temporaryFolder } from './folder.ts';
import { quick, silent } from './quick.ts';

interface Task {
  pipeline?: string;
  dataset?: string;
  params?: string;
}

/** Places the inputs of a task that is given as JSON text; gives the text of the spec file. */
async function place(t: TestContext, task: Task, more: Partial<InputContext> = {}) {
  const folder = await temporaryFolder(t);
  const { pipeline = '{"kind":"inline_json","inline":{}}', params = '{}' } = task;
  const dataset = task.dataset ?? JSON.stringify({ kind: 'shared_path', path: folder });
  const text = `{"pipeline":${pipeline},"dataset":${dataset},"params":${params},"outputs":{"export_best_model":true}}`;
  const paths = attemptPaths(folder, { task_id: 'task_1', attempt: 1 });
  const client = new ClusterClient({ server: 'http://127.0.0.1:9' });
  const cache = new InputCache({ folder: join(folder, 'cache'), limitBytes: 0, log: silent });
  const signal = new AbortController().signal;
  const placed = await materialize(
    {
      lease: {
        ref: { task_id: 'task_1', attempt: 1, worker_id: 'w' },
        payload: JSON.parse(text),
        text,
        missing: [],
      },
      artifacts: new Artifacts({ client, cache, zipLimits: LIMITS }),
      folder: paths.inputs,
      allowPython: false,
      datasets: {},
      catalog: null,
      hold: () => {},
      note: () => {},
      persistence: { backoff: { limits: quick, random: () => 0.5 }, log: silent, signal },
      ...more,
    },
    paths,
  );
  return { fingerprint: placed.fixed, spec: await readFile(paths.spec, 'utf8') };
}

const isInputFault = (message: RegExp) => (fault: unknown) =>
  fault instanceof InputError && message.test(fault.message);

describe('placing the inputs of a task', () => {
  it('passes params on exactly as written: digits, exponents, order of keys, nesting', async (t) => {
    const params =
      '{"z":1.0,"a":1e-3,"seed":12345678901234567890,"deep":{"x":[0.10,-0.0]},"text":"ü \\u00fc"}';
    const { spec } = await place(t, { params });
    assert.equal(at(spec, 'params'), params);
  });

  it('moves inner_n_jobs from the params to a member of its own', async (t) => {
    const { spec } = await place(t, { params: '{"a":1.0,"inner_n_jobs":4,"b":2}' });
    assert.equal(at(spec, 'params'), '{"a":1.0,"b":2}');
    assert.equal(at(spec, 'inner_n_jobs'), '4');
  });

  it('runs with one inner job unless told otherwise', () => {
    assert.equal(splitParams('{}').inner_n_jobs.text, '1');
    assert.equal(splitParams('{"inner_n_jobs":null}').inner_n_jobs.text, '1');
    assert.equal(splitParams('{"inner_n_jobs":-1}').inner_n_jobs.text, '-1');
    for (const odd of ['0', '1.5', '"4"', '[1]', 'true']) {
      assert.throws(() => splitParams(`{"inner_n_jobs":${odd}}`), isInputFault(/inner_n_jobs/));
    }
  });

  it('writes an inline pipeline exactly as it came, and fingerprints its canonical form', async (t) => {
    const inline = '{"steps":[{"b":1.0,"a":1e-3,"n":12345678901234567890}]}';
    const placed = await place(t, { pipeline: `{"kind":"inline_json","inline":${inline}}` });
    const path = JSON.parse(at(placed.spec, 'pipeline', 'path') as string) as string;
    assert.equal(await readFile(path, 'utf8'), inline);
    // sha256 of json.dumps(…, sort_keys=True, separators=(",", ":")) in Python 3.
    assert.equal(
      placed.fingerprint,
      'sha256:e579793c8ec73d1a2a88dd335d9321913b64fcb3046a69f594e232d11a4253d1',
    );
  });

  it('names a pipeline file by its absolute path and fingerprints its bytes', async (t) => {
    const file = join(await temporaryFolder(t), 'p.yaml');
    await writeFile(file, 'abc');
    const placed = await place(t, { pipeline: JSON.stringify({ kind: 'path', path: file }) });
    assert.deepEqual(JSON.parse(placed.spec).pipeline, { mode: 'path', path: file });
    assert.equal(
      placed.fingerprint,
      'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
  });

  it('finds a dataset that only this worker has by the name under which it was declared', async (t) => {
    const datasets = { corn: await temporaryFolder(t) };
    const { spec } = await place(t, { dataset: '{"kind":"worker_local","name":"corn"}' }, { datasets });
    assert.deepEqual(JSON.parse(spec).dataset, { mode: 'path', path: datasets.corn });
  });

  it('names the entry point of a python pipeline where the worker allows that', async (t) => {
    const pipeline = '{"kind":"python_entrypoint","entrypoint":"lab.models"}';
    const { spec } = await place(t, { pipeline }, { allowPython: true });
    assert.deepEqual(JSON.parse(spec).pipeline, {
      mode: 'entrypoint',
      entrypoint: 'lab.models:build_pipeline',
      sys_path: [],
    });
  });

  const wrong: [string, Task, RegExp][] = [
    ['a pipeline that is a folder', { pipeline: '{"kind":"path","path":"/"}' }, /pipeline is not a file/],
    ['a pipeline that is a device', { pipeline: '{"kind":"path","path":"/dev/zero"}' }, /is not a file/],
    ['a pipeline of a kind to come', { pipeline: '{"kind":"telepathy"}' }, /cannot take the pipeline/],
  ];
  for (const [what, task, message] of wrong) {
    it(`is an input fault for ${what}`, async (t) => {
      await assert.rejects(place(t, task), isInputFault(message));
    });
  }

  const missing: [string, Task, string][] = [
    ['a pipeline', { pipeline: '{"kind":"path","path":"/no/p.yaml"}' }, '/no/p.yaml'],
    ['a dataset', { dataset: '{"kind":"shared_path","path":"/no/data"}' }, '/no/data'],
    [
      'a dataset below a file',
      { dataset: '{"kind":"shared_path","path":"/etc/hostname/x"}' },
      '/etc/hostname/x',
    ],
    ['a dataset of this worker', { dataset: '{"kind":"worker_local","path":"no/corn"}' }, 'no/corn'],
  ];
  for (const [what, task, path] of missing) {
    it(`blames a worker that lacks ${what}, and names the path as the job does`, async (t) => {
      await assert.rejects(place(t, task), (fault) => {
        const { verb, failure, own } = failedBy(fault);
        assert.deepEqual([verb, failure.fault, failure.retriable, own], ['fail', 'worker', true, undefined]);
        assert.equal(failure.missing_path, path);
        return failure.error.includes(`does not exist on this worker: ${path}`);
      });
    });
  }

  const lacking: [string, Task, RegExp][] = [
    [
      'a dataset that was not declared',
      { dataset: '{"kind":"worker_local","name":"corn"}' },
      /no dataset 'corn'/,
    ],
    ['a name that every object has', { dataset: '{"kind":"worker_local","name":"toString"}' }, /'toString'/],
    [
      'a catalog where there is none',
      { dataset: '{"kind":"catalog","catalog_id":"corn@2"}' },
      /this worker has no catalog; it cannot resolve 'corn@2'/,
    ],
    [
      'a python pipeline where that is not allowed',
      { pipeline: '{"kind":"python_entrypoint","entrypoint":"m"}' },
      /--allow-python/,
    ],
  ];
  for (const [what, task, message] of lacking) {
    it(`leaves ${what} to another worker, and does not count it as a fault of this one`, async (t) => {
      await assert.rejects(place(t, task), (fault) => {
        const { failure, own } = failedBy(fault);
        assert.deepEqual([failure.fault, failure.missing_path, own], ['worker', undefined, undefined]);
        return message.test(failure.error);
      });
    });
  }

  it('blames the worker itself when a dataset that its owner declared is gone', async (t) => {
    const task = { dataset: '{"kind":"worker_local","name":"corn"}' };
    await assert.rejects(place(t, task, { datasets: { corn: '/no/share' } }), (fault) => {
      const { failure, own } = failedBy(fault);
      assert.deepEqual([failure.fault, failure.missing_path, own], ['worker', undefined, true]);
      return /dataset 'corn' does not exist on this worker: \/no\/share/.test(failure.error);
    });
  });
});

describe('names that come from outside', () => {
  it('never lead out of the state directory', () => {
    assert.equal(safeName('task_01abc'), 'task_01abc');
    for (const id of ['../..', '.', 'a/b', 'a\0', '', 'x'.repeat(300)]) {
      assert.match(safeName(id), /^id-[0-9a-f]{64}$/);
    }
  });

  it('of artifacts keep what is harmless, above all the extension', () => {
    assert.equal(safeFileName('attachment; filename="p.yaml"'), 'p.yaml');
    assert.equal(safeFileName('attachment; filename="a"; filename*=UTF-8\'\'my%20p%2Fq.json'), 'q.json');
    assert.equal(safeFileName('attachment; filename="..\\..\\x y.zip"'), 'x_y.zip');
    assert.equal(safeFileName("attachment; filename*=UTF-8''%ZZ"), 'file');
    assert.equal(safeFileName(''), 'file');
  });
});
