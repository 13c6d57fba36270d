import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LIMITS } from '../../actors/worker/inputs/zip.ts';
import { rawZip } from './raw-zip.ts';
import { logOf, serverAndWorker, submit, taskIn, uploadInput } from './support.ts';

describe('a task whose child goes wrong', () => {
  const once = { retry: { max_attempts: 1 } };
  const cases: [string, string, RegExp][] = [
    ['crashes by a signal', 'crash', /^the analysis was ended by SIGSEGV$/],
    ['ends with a traceback', 'traceback', /^ZeroDivisionError: division by zero$/],
  ];
  for (const [what, behaviour, error] of cases) {
    it(`fails with a clear error when it ${what}`, async (t) => {
      const { server } = await serverAndWorker(t);
      const job = await submit(server, { do: behaviour }, once);
      const task = await taskIn(server, job);
      assert.equal(task.status, 'failed');
      assert.match(String(task.error), error);
      assert.match(await logOf(server, job), /\[jq-worker\] /, 'the log says why it ended');
    });
  }

  it('is not tried again for an input fault', async (t) => {
    const { server } = await serverAndWorker(t);
    const task = await taskIn(server, await submit(server, { do: 'inputFault' }));
    assert.deepEqual(
      [task.status, task.attempt, task.error],
      ['failed', 1, 'Error: the pipeline has no steps'],
    );
  });

  it('may write more than a log takes', async (t) => {
    const { server } = await serverAndWorker(t, { maxLogBytes: 10_000 });
    const job = await submit(server, { do: 'chatter', lines: 5000 });
    assert.equal((await taskIn(server, job)).status, 'succeeded');
    const log = await logOf(server, job);
    assert.ok(log.length < 10_300);
    assert.match(log, /^line 0 x/);
    assert.match(log, /the log exceeds 10000 bytes; the rest is left out\n.*\d{6} bytes were left out\n$/);
    const events = await server.client.call('listJobEvents', { params: { id: job } });
    const sizes = events.filter((e) => e.type === 'log').map((e) => Buffer.byteLength(e.message));
    assert.ok(sizes.length >= 1 && Math.max(...sizes) <= 16 * 1024);
    assert.ok(events.some((e) => e.type === 'log' && /bytes left out\]/.test(e.message)));
  });
});

describe('a result that the server refuses', () => {
  it('makes the task fail at once, saying so, rather than wait until its lease expires', async (t) => {
    const { server } = await serverAndWorker(t, {}, { maxRequestBytes: 4000 });
    const task = await taskIn(server, await submit(server, { do: 'big', bytes: 5000 }));
    assert.deepEqual([task.status, task.attempt], ['failed', 1]);
    assert.match(String(task.error), /^the server refused the result: /);
  });

  it('is sent without a file that is too large, and the task says so', async (t) => {
    const { server } = await serverAndWorker(t, {}, { maxArtifactBytes: 10 });
    const job = await submit(server, { do: 'export' });
    const task = await taskIn(server, job);
    assert.equal(task.status, 'succeeded');
    assert.equal(((task.result?.artifacts ?? {}) as Record<string, unknown>).model, null);
    assert.equal(await logOf(server, job), 'exported\n');
    const events = await server.client.call('listJobEvents', { params: { id: job } });
    assert.ok(events.some((event) => /the model could not be uploaded: /.test(event.message)));
  });
});

describe('a task whose inputs are wrong', () => {
  const archives: [string, Buffer, RegExp][] = [
    ['that is no zip archive', Buffer.from('1,2\n3,4\n'), /not a readable zip archive/],
    [
      'with too many entries',
      rawZip(Array.from({ length: 21 }, (_, i) => ({ name: `f${i}` }))),
      /21 entries; 20 are allowed/,
    ],
    [
      'that unpacks to too much',
      rawZip([{ name: 'big.csv', data: 'x'.repeat(2000) }]),
      /more than 1000 bytes/,
    ],
  ];
  for (const [what, bytes, error] of archives) {
    it(`fails at once for a dataset ${what}`, async (t) => {
      const { server } = await serverAndWorker(t, {
        zipLimits: { ...LIMITS, entries: 20, totalBytes: 1000 },
      });
      const artifact_id = await uploadInput(t, server, 'data.zip', bytes);
      const dataset = { kind: 'artifact', artifact_id };
      const task = await taskIn(server, await submit(server, { do: 'echo' }, { dataset }));
      assert.deepEqual([task.status, task.attempt], ['failed', 1]);
      assert.match(String(task.error), error);
    });
  }

  it('unpacks the bundle of a python pipeline where that is allowed', async (t) => {
    const { server } = await serverAndWorker(t, { allowPython: true }, { allowPythonJobs: true });
    const bundle = await uploadInput(t, server, 'b.zip', rawZip([{ name: 'lab/models.py', data: 'x = 1' }]));
    const pipeline = { kind: 'python_entrypoint', entrypoint: 'models:make', bundle_artifact_id: bundle };
    const task = await taskIn(server, await submit(server, { do: 'echo' }, { pipeline }));
    const { spec } = (task.result?.extra ?? {}) as { spec: string };
    const { mode, entrypoint, sys_path } = JSON.parse(spec).pipeline;
    assert.deepEqual([mode, entrypoint], ['entrypoint', 'models:make']);
    assert.match(sys_path[0], /\/bundle$/);
    assert.match(sys_path[1], /\/bundle\/lab$/);
  });
});
