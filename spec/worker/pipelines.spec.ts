import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { WorkerConfig } from '../../actors/worker/config.ts';
import { externalRunner } from '../../actors/worker/runners/external/index.ts';
import type { TestServer } from '../support/server.ts';
import { sha256 } from '../support/sha256.ts';
import { temporaryFolder } from './folder.ts';
import { rawZip } from './raw-zip.ts';
import { serverAndWorker, startTestWorker, submit, taskIn, taskOf, uploadInput } from './support.ts';

const ENTRY = externalRunner(
  `entry@1.0=python3 ${fileURLToPath(new URL('./fixtures/entry.py', import.meta.url))}`,
);

/** A module in a package that imports another one of its own. */
const BUNDLE = rawZip([
  { name: 'lab/__init__.py', data: '' },
  { name: 'lab/parts.py', data: 'STEPS = ["snv", {"pls": 3}]\n' },
  {
    name: 'lab/models.py',
    data: 'from .parts import STEPS\n\ndef build_pipeline():\n    return STEPS\n\ndef other():\n    return STEPS[:1]\n',
  },
]);

describe('a pipeline that Python code builds', () => {
  async function play(t: TestContext, { server: allowPythonJobs = true, worker: allowPython = true } = {}) {
    const { server } = await serverAndWorker(t, { allowPython, runners: [ENTRY] }, { allowPythonJobs });
    const bundle_artifact_id = await uploadInput(t, server, 'lab.zip', BUNDLE);
    const run = (entrypoint: string, params = {}) => {
      const pipeline = { kind: 'python_entrypoint', entrypoint, bundle_artifact_id };
      return submit(server, params, { type: 'entry.run', pipeline });
    };
    return { server, run };
  }

  it('is built from its bundle, in the child', async (t) => {
    const { server, run } = await play(t);
    const task = await taskIn(server, await run('lab.models'));
    assert.deepEqual(task.result?.extra, { built: ['snv', { pls: 3 }] });
    const other = await taskIn(server, await run('lab.models:other'));
    assert.deepEqual(other.result?.extra, { built: ['snv'] });
  });

  it('is refused by a server that was not configured to accept such jobs', async (t) => {
    const { run } = await play(t, { server: false });
    await assert.rejects(run('lab.models'), { status: 400, message: /--allow-python-jobs/ });
  });

  it('goes only to a worker that was configured to run such code, and waits for one', async (t) => {
    const { server, run } = await play(t, { worker: false });
    const job = await run('lab.models');
    assert.deepEqual((await taskOf(server, job)).waiting_for, [
      { requirement: 'capabilities.python_entrypoint', workers_missing: 1 },
    ]);
    const able = await startTestWorker(t, server, { allowPython: true, runners: [ENTRY] });
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.attempt, task.worker_id], ['succeeded', 1, able.workerId]);
  });

  it('has the fingerprint that its runner reports, else that of entry point and bundle', async (t) => {
    const { server, run } = await play(t);
    const fingerprintOf = async (job: string) => (await taskIn(server, job)).result?.pipeline_fingerprint;
    const code = (entrypoint: string) => `sha256:${sha256(`${entrypoint}\n${sha256(BUNDLE)}`)}`;
    assert.equal(await fingerprintOf(await run('lab.models')), code('lab.models:build_pipeline'));
    assert.equal(await fingerprintOf(await run('lab.models:other')), code('lab.models:other'));
    assert.equal(await fingerprintOf(await run('lab.models', { tell: 'sha256:built' })), 'sha256:built');
  });
});

describe('the fingerprint of a pipeline', () => {
  async function play(t: TestContext, config: Partial<WorkerConfig> = {}) {
    const { server } = await serverAndWorker(t, config);
    return server;
  }

  async function fingerprintOf(server: TestServer, pipeline: string): Promise<unknown> {
    const { id } = await server.client.call('submitJob', {
      text: `{"type":"demo.run","pipeline":${pipeline},"dataset":{"kind":"shared_path","path":"/"},"params":{"do":"echo"}}`,
    });
    return (await taskIn(server, id)).result?.pipeline_fingerprint;
  }

  it('is over the bytes of its file, shared or uploaded', async (t) => {
    const server = await play(t);
    const text = 'steps:\n  - snv # ü\r\n';
    const file = join(await temporaryFolder(t), 'p.yaml');
    await writeFile(file, text);
    const id = await uploadInput(t, server, 'p.yaml', text);
    const expected = `sha256:${sha256(text)}`;
    assert.equal(await fingerprintOf(server, JSON.stringify({ kind: 'path', path: file })), expected);
    assert.equal(
      await fingerprintOf(server, JSON.stringify({ kind: 'artifact', artifact_id: id })),
      expected,
    );
  });

  // As the README tells a Python client to compute it, over the same JSON.
  const README = fileURLToPath(new URL('../../actors/worker/runners/nirs4all/README.md', import.meta.url));
  const PYTHON = /```python\n(.*?)```/s.exec(readFileSync(README, 'utf8'))?.[1] ?? '';
  const inlines: [string, string][] = [
    [
      'floats',
      '{"a":[1.0,1e-3,1E5,0.1,1e16,123456789012345680.0,1e-7,-0.0,5e-324,1.7976931348623157e308,2]}',
    ],
    ['integers of many digits', '[12345678901234567890,-0,9007199254740993]'],
    [
      'text beyond ASCII',
      '{"ü":"naïve \\u00e9 \\ud83d\\ude00 😀 \\u007f \\u2028","\\uffff":1,"😀":2,"z":"\\"\\\\/\\b"}',
    ],
    [
      'keys in any order, nested',
      '{"b":{"y":[{"d":1,"c":{"f":null,"e":true}}],"x":1},"a":{"B":1,"A":2,"":3}}',
    ],
    ['a key given twice', '{"a":1,"b":2,"a":3}'],
  ];
  it('is that of a Python client for the same inline JSON: floats, unicode and nested order included', async (t) => {
    const server = await play(t);
    const cwd = await temporaryFolder(t);
    for (const [what, inline] of inlines) {
      await writeFile(join(cwd, 'pipeline.json'), inline);
      const { stdout } = await promisify(execFile)('python3', ['-c', PYTHON], { cwd });
      const pipeline = `{"kind":"inline_json","inline":${inline}}`;
      assert.equal(await fingerprintOf(server, pipeline), stdout.trim(), what);
    }
  });
});
