import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { PACKAGE_VERSION } from '../../gateway/version.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { exists, temporaryFolder } from './folder.ts';
import { rawZip } from './raw-zip.ts';
import { logOf, serverAndWorker, startTestWorker, submit, taskIn, uploadInput } from './support.ts';

describe('a worker', () => {
  it('declares what it is and has', async (t) => {
    const server = await startTestServer(t);
    const worker = await startTestWorker(t, server, {
      name: 'bench-7',
      slots: 3,
      labels: { site: 'lab-a' },
      datasets: { corn: '/data/corn' },
      gpus: 2,
    });
    const [view] = await server.client.call('listWorkers');
    assert.ok(view);
    assert.equal(view.id, worker.workerId);
    assert.equal(view.name, 'bench-7');
    assert.equal(view.slots_total, 3);
    assert.deepEqual(view.labels, { site: 'lab-a', 'dataset.corn': 'true' });
    assert.equal(view.capabilities.gpu_count, 2);
    assert.ok((view.capabilities.memory_gb as number) > 0);
    assert.deepEqual(view.version.packages, { demo: '1.0' });
    assert.equal(view.version.node, process.versions.node);
    assert.equal(view.cluster_version, PACKAGE_VERSION);
    assert.equal(view.version_divergent, false);
  });

  it('runs a task from lease to result, with its artifacts', async (t) => {
    const { server, worker } = await serverAndWorker(t);
    const job = await submit(server, { do: 'export' }, { outputs: { keep_task_workspace: true } });
    const task = await taskIn(server, job);
    assert.equal(task.status, 'succeeded');
    assert.equal(task.attempt, 1);
    assert.equal(task.worker_id, worker.workerId);
    const { result } = task;
    assert.deepEqual(result?.metrics, { best_rmse: 0.5 });
    assert.match(String(result?.pipeline_fingerprint), /^sha256:/);
    assert.ok((result?.duration_seconds as number) > 0);

    const artifacts = await server.client.call('listJobArtifacts', { params: { id: job } });
    const byRole = new Map(artifacts.map((artifact) => [artifact.role, artifact]));
    assert.deepEqual([...byRole.keys()].sort(), ['best_model', 'logs', 'model', 'workspace']);
    assert.equal(await logOf(server, job), 'exported\n');
    const model = await server.client.download(byRole.get('model')?.id ?? '');
    assert.equal(await text(model.body), '{"model":1}');
    assert.equal(byRole.get('model')?.filename, 'best_model.json');
  });

  it('keeps no archive of an empty workspace', async (t) => {
    const { server } = await serverAndWorker(t);
    const job = await submit(server, { do: 'inputFault' }, { outputs: { keep_task_workspace: true } });
    await taskIn(server, job);
    const artifacts = await server.client.call('listJobArtifacts', { params: { id: job } });
    assert.deepEqual(
      artifacts.map(({ role }) => role),
      ['logs'],
    );
  });

  it('leaves nothing of a task on its disk', async (t) => {
    const { server, worker } = await serverAndWorker(t);
    await taskIn(server, await submit(server, { do: 'export' }));
    const left = async () => [
      ...(await readdir(join(worker.state, 'tasks'))),
      ...(await readdir(join(worker.state, 'outbox'))),
    ];
    await until('the directory to be empty', async () => (await left()).length === 0);
  });

  it('hands params and inline pipeline to the child exactly as they were submitted', async (t) => {
    const { server } = await serverAndWorker(t);
    const params =
      '{"do":"echo","alpha":1.0,"tolerance":1e-3,"random_state":12345678901234567890,"inner_n_jobs":2}';
    const inline = '{"steps":[{"z":0.10,"a":1E5}]}';
    const { id } = await server.client.call('submitJob', {
      text: `{"type":"demo.run","pipeline":{"kind":"inline_json","inline":${inline}},"dataset":{"kind":"shared_path","path":"/"},"params":${params}}`,
    });
    const { result } = await taskIn(server, id);
    const { spec, pipeline } = (result?.extra ?? {}) as { spec: string; pipeline: string };
    assert.equal(pipeline, inline);
    assert.ok(
      spec.includes(
        '"params":{"do":"echo","alpha":1.0,"tolerance":1e-3,"random_state":12345678901234567890}',
      ),
      spec,
    );
    assert.ok(spec.includes('"inner_n_jobs":2'));
  });

  it('sends progress and log lines while the task runs, the last of them always', async (t) => {
    const { server } = await serverAndWorker(t);
    const job = await submit(server, { do: 'progress' });
    await taskIn(server, job);
    const events = await server.client.call('listJobEvents', { params: { id: job } });
    const progress = events.filter((event) => event.type === 'progress');
    assert.equal(progress.at(-1)?.message, 'step 50');
    assert.equal(progress.at(-1)?.data.progress, 1);
    assert.ok(progress.length <= 3, `${progress.length} progress events for 50 lines at once`);
    const logged = events.filter((event) => event.type === 'log').map((event) => event.message);
    assert.deepEqual(logged.join('\n').split('\n').sort(), ['a line', 'another line']);
    const [completed] = events.filter((event) => event.type === 'task_completed');
    assert.ok((completed?.id ?? 0) > (progress.at(-1)?.id ?? 0));
  });

  it('fetches pipeline and dataset artifacts; a folder around the dataset makes no difference', async (t) => {
    const { server } = await serverAndWorker(t);
    const pipeline = await uploadInput(t, server, 'my pipeline.yaml', 'steps: [snv]');
    const zip = rawZip([
      { name: 'corn/train_x.csv', data: '1,2' },
      { name: 'corn/train_y.csv', data: '3' },
    ]);
    const dataset = await uploadInput(t, server, 'corn.zip', zip);
    const job = await submit(
      server,
      { do: 'echo' },
      {
        pipeline: { kind: 'artifact', artifact_id: pipeline },
        dataset: { kind: 'artifact', artifact_id: dataset },
      },
    );
    const task = await taskIn(server, job);
    const extra = (task.result?.extra ?? {}) as { spec: string; pipeline: string };
    const spec = JSON.parse(extra.spec);
    assert.equal(extra.pipeline, 'steps: [snv]');
    assert.match(spec.pipeline.path, /\.yaml$/, 'runners look at the extension');
    assert.match(spec.dataset.path, /\/dataset\/corn$/);
    assert.equal(
      task.result?.pipeline_fingerprint,
      'sha256:96bec227ce209b3f2334bd3bfd061f2b11da45885b3f8e68197ffb9cc0ca2c30',
    );
  });

  it('runs as many tasks at the same time as it has slots', async (t) => {
    const { server } = await serverAndWorker(t, { slots: 2 });
    const folder = await temporaryFolder(t);
    const go = join(folder, 'go');
    const marks = ['a', 'b', 'c'].map((name) => join(folder, name));
    const jobs = [];
    for (const mark of marks) jobs.push(await submit(server, { do: 'wait', mark, until: go }));
    await until('two of them to run', async () => {
      const running = await Promise.all(marks.map(exists));
      return running.filter(Boolean).length === 2;
    });
    const [view] = await server.client.call('listWorkers');
    assert.equal(view?.slots_used, 2);
    await writeFile(go, '');
    for (const job of jobs) assert.equal((await taskIn(server, job)).status, 'succeeded');
  });

  it('does not show its credential to the child', async (t) => {
    const server = await startTestServer(t, { token: 'secret' });
    process.env.JQ_TOKEN = 'secret';
    t.after(() => {
      delete process.env.JQ_TOKEN;
    });
    const worker = await startTestWorker(t, server, { token: 'secret' });
    const { result } = await taskIn(server, await submit(server, { do: 'environment' }));
    const { token, cwd } = (result?.extra ?? {}) as { token: unknown; cwd: string };
    assert.equal(token, null);
    assert.ok(cwd.startsWith(join(worker.state, 'tasks')), 'it runs in a directory of its own');
  });

  it('reads a result with NaN in it', async (t) => {
    const { server } = await serverAndWorker(t);
    const { result } = await taskIn(server, await submit(server, { do: 'notANumber' }));
    assert.deepEqual(result?.metrics, { best_rmse: null, best_r2: null });
  });
});
