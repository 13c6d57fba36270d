import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { LIMITS } from '../../actors/worker/inputs/zip.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { demoRunner } from './demo-runner.ts';
import { temporaryFolder } from './folder.ts';
import { rawZip } from './raw-zip.ts';
import { isAlive, logOf, pidIn, startTestWorker, submit, taskIn, uploadInput } from './support.ts';

describe('a task whose child goes wrong', () => {
  const once = { retry: { max_attempts: 1 } };
  const cases: [string, string, RegExp][] = [
    ['crashes by a signal', 'crash', /^the analysis was ended by SIGSEGV$/],
    ['is killed by the kernel', 'killed', /^the analysis was killed by SIGKILL, probably out of memory$/],
    ['writes no result', 'silent', /^the analysis ended without writing a result$/],
    ['writes half a result', 'garbage', /^the result cannot be read: /],
    ['writes a result that is not valid', 'invalid', /^the result is not valid: \/duration_seconds /],
    ['says that it failed', 'unfinished', /^did not converge$/],
    ['ends with a traceback', 'traceback', /^ZeroDivisionError: division by zero$/],
  ];
  for (const [what, behaviour, error] of cases) {
    it(`fails with a clear error when it ${what}`, async (t) => {
      const server = await startTestServer(t);
      await startTestWorker(t, server);
      const job = await submit(server, { do: behaviour }, once);
      const task = await taskIn(server, job);
      assert.equal(task.status, 'failed');
      assert.match(String(task.error), error);
      assert.match(await logOf(server, job), /\[jq-worker\] /, 'the log says why it ended');
    });
  }

  for (const behaviour of ['crash', 'killed']) {
    it(`is tried again while attempts remain (${behaviour})`, async (t) => {
      const server = await startTestServer(t);
      await startTestWorker(t, server);
      const job = await submit(server, { do: behaviour }, { retry: { max_attempts: 3 } });
      const task = await taskIn(server, job);
      assert.deepEqual([task.status, task.attempt], ['failed', 3]);
    });
  }

  it('is not tried again for an input fault', async (t) => {
    const server = await startTestServer(t);
    await startTestWorker(t, server);
    const task = await taskIn(server, await submit(server, { do: 'inputFault' }));
    assert.deepEqual(
      [task.status, task.attempt, task.error],
      ['failed', 1, 'Error: the pipeline has no steps'],
    );
  });

  it('leaves no grandchildren behind, and is not held up by them', async (t) => {
    const server = await startTestServer(t);
    await startTestWorker(t, server);
    const mark = join(await temporaryFolder(t), 'pid');
    const task = await taskIn(server, await submit(server, { do: 'fork', mark }));
    assert.equal(task.status, 'succeeded');
    const grandchild = await pidIn(mark);
    await until('the grandchild to be gone', () => !isAlive(grandchild));
  });

  it('may write more than a log takes', async (t) => {
    const server = await startTestServer(t);
    await startTestWorker(t, server, { maxLogBytes: 10_000 });
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

  it('fails where its runner cannot be started', async (t) => {
    const server = await startTestServer(t);
    await startTestWorker(t, server, { runners: [{ ...demoRunner, command: ['/no/such/runner'] }] });
    const task = await taskIn(server, await submit(server, { do: 'echo' }, once));
    assert.match(String(task.error), /\/no\/such\/runner ENOENT/);
  });
});

describe('a result that the server refuses', () => {
  it('makes the task fail at once, saying so, rather than wait until its lease expires', async (t) => {
    const server = await startTestServer(t, { maxRequestBytes: 4000 });
    await startTestWorker(t, server);
    const task = await taskIn(server, await submit(server, { do: 'big', bytes: 5000 }));
    assert.deepEqual([task.status, task.attempt], ['failed', 1]);
    assert.match(String(task.error), /^the server refused the result: /);
  });

  it('is sent without a file that is too large, and the task says so', async (t) => {
    const server = await startTestServer(t, { maxArtifactBytes: 10 });
    await startTestWorker(t, server);
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
  it('fails, naming what is missing on this worker', async (t) => {
    const server = await startTestServer(t);
    await startTestWorker(t, server);
    const dataset = { kind: 'shared_path', path: '/no/such/data' };
    const task = await taskIn(server, await submit(server, { do: 'echo' }, { dataset }));
    assert.equal(task.status, 'failed');
    assert.match(`${task.error}`, /the dataset does not exist on this worker: \/no\/such\/data/);
  });

  const archives: [string, Buffer, RegExp][] = [
    ['that is no zip archive', Buffer.from('1,2\n3,4\n'), /not a readable zip archive/],
    ['that climbs out of its folder', rawZip([{ name: '../../../evil.csv', data: '1' }]), /\.\./],
    ['with a link in it', rawZip([{ name: 'l', data: '/etc', mode: 0o120777 }]), /a link\?/],
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
      const server = await startTestServer(t);
      await startTestWorker(t, server, { zipLimits: { ...LIMITS, entries: 20, totalBytes: 1000 } });
      const artifact_id = await uploadInput(t, server, 'data.zip', bytes);
      const dataset = { kind: 'artifact', artifact_id };
      const task = await taskIn(server, await submit(server, { do: 'echo' }, { dataset }));
      assert.deepEqual([task.status, task.attempt], ['failed', 1]);
      assert.match(String(task.error), error);
    });
  }

  it('unpacks the bundle of a python pipeline where that is allowed', async (t) => {
    const server = await startTestServer(t, { allowPythonJobs: true });
    await startTestWorker(t, server, { allowPython: true });
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
