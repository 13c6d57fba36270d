import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { fromBufferPromise } from 'yauzl';
import { startTestServer, type TestServer, temporaryDirectory } from '../support/server.ts';
import { ROOT, run, start } from './cli-support.ts';
import { playWorker } from './played-worker.ts';

/** A pipeline file, a dataset folder and a job file that names both. */
async function analyst(t: TestContext, change: (job: string) => string = (job) => job) {
  const folder = await temporaryDirectory(t);
  const [pipeline, dataset] = [join(folder, 'pls.yaml'), join(folder, 'octane')];
  await writeFile(pipeline, '[{pls: {components: 2}}]');
  await mkdir(join(dataset, 'deep'), { recursive: true });
  await writeFile(join(dataset, 'train_x.csv'), '1,2\n3,5\n4,1\n6,9\n');
  await writeFile(join(dataset, 'train_y.csv'), '1\n2\n4\n3\n');
  await writeFile(join(dataset, 'deep', 'note.txt'), 'x');
  await writeFile(join(dataset, '.hidden'), 'not sent');
  const job = join(folder, 'job.json');
  const text = `{"type":"mljs.run","pipelines":[{"kind":"path","path":"${pipeline}"},{"kind":"path","path":"${pipeline}"}],"dataset":{"kind":"shared_path","path":"${dataset}"},"params":{"a":1.0,"n":12345678901234567890}}`;
  await writeFile(job, change(text));
  return { job, pipeline, dataset };
}

const namesIn = async (zip: Buffer): Promise<string[]> => {
  const names: string[] = [];
  for await (const { fileName } of (await fromBufferPromise(zip)).eachEntry()) names.push(fileName);
  return names;
};

const requestOf = (server: TestServer, id: string) =>
  server.client.callText('getJobRequest', { params: { id } });

/** What an analyst gets who submits, and what the server has of the job then. */
async function sent(server: TestServer, job: string, ...flags: string[]) {
  const { code, stdout, stderr } = await run(['submit', job, ...flags, '--server', server.url]);
  assert.equal(code, 0, stderr);
  const text = await requestOf(server, stdout.trim());
  return { id: stdout.trim(), stderr, text, request: JSON.parse(text) };
}

/** The one line by which the job is refused. */
async function refusal(server: TestServer, job: string, ...flags: string[]): Promise<string> {
  const { code, stderr } = await run(['submit', job, ...flags, '--server', server.url]);
  assert.equal(code, 2, stderr);
  return stderr;
}

describe('submit --upload', () => {
  it('names artifacts in place of what exists here, and leaves every number as it is written', async (t) => {
    const server = await startTestServer(t);
    const { job } = await analyst(t);
    const { text, request } = await sent(server, job, '--upload');
    assert.match(text, /"params":\{"a":1\.0,"n":12345678901234567890\}/);
    const { pipelines, dataset } = request;
    assert.deepEqual([dataset.kind, dataset.name], ['artifact', 'octane']);
    assert.equal(pipelines[0].kind, 'artifact');
    // Equal content is sent once.
    assert.equal(pipelines[0].artifact_id, pipelines[1].artifact_id);
    const { body } = await server.client.download(pipelines[0].artifact_id);
    assert.equal(await new Response(body as never).text(), '[{pls: {components: 2}}]');
  });

  it('packs equal folders into equal bytes, whatever the time zone is', async (t) => {
    const server = await startTestServer(t);
    const digests: (string | string[] | undefined)[] = [];
    for (const TZ of ['UTC', 'America/Anchorage', 'Asia/Tokyo']) {
      const { job } = await analyst(t);
      const argv = ['submit', job, '--upload', '--server', server.url];
      const { code, stdout, stderr } = await start('jqctl', argv, { TZ }).outcome;
      assert.equal(code, 0, stderr);
      const request = JSON.parse(await requestOf(server, stdout.trim()));
      const { headers, body } = await server.client.download(request.dataset.artifact_id);
      await new Response(body as never).arrayBuffer();
      digests.push(headers.etag);
    }
    assert.equal(new Set(digests).size, 1);
  });

  it('uploads what the job marks with file: also without the flag, and nothing else', async (t) => {
    const server = await startTestServer(t);
    const { job, dataset } = await analyst(t, (text) => text.replace('"path":"', '"path":"file:'));
    const { request } = await sent(server, job);
    assert.deepEqual(
      request.pipelines.map((pipeline: { kind: string }) => pipeline.kind),
      ['artifact', 'path'],
    );
    assert.equal(request.dataset.path, dataset);
  });

  it('leaves paths that exist only on the workers as they are', async (t) => {
    const server = await startTestServer(t);
    const { job } = await analyst(t, (text) => text.replaceAll('octane', 'elsewhere'));
    const { request, stderr } = await sent(server, job, '--upload');
    assert.equal(request.dataset.kind, 'shared_path');
    assert.match(stderr, /^not on this machine, left as the workers' path: \/.*\/elsewhere$/m);
    assert.equal(stderr.match(/not on this machine/g)?.length, 1, stderr);
  });

  it('keeps names: a pipeline that has none is called as its file is, in the ranking as well', async (t) => {
    const server = await startTestServer(t);
    const { job } = await analyst(t, (text) => text.replace('"kind":"path"', '"kind":"path","name":"two"'));
    const { id, request } = await sent(server, job, '--upload');
    assert.deepEqual(
      request.pipelines.map(({ name }: { name: string }) => name),
      ['two', 'pls'],
    );
    const worker = await playWorker(server.client);
    for (let n = 0; n < 2; n++) await worker.complete(await worker.take());
    const { ranking } = (await server.client.call('getJob', { params: { id } })).aggregate;
    assert.deepEqual(ranking.map(({ pipeline }) => pipeline).sort(), ['pls', 'two']);
  });

  it('counts relative paths from the current directory, else from the folder of the job file', async (t) => {
    const server = await startTestServer(t);
    const { job, pipeline } = await analyst(t, (text) => text.replaceAll(/"\/[^"]*\//g, '"'));
    const farther = await sent(server, job, '--upload');
    assert.match(farther.stderr, new RegExp(`^uploaded ${pipeline}$`, 'm'));
    assert.equal(farther.request.dataset.kind, 'artifact');
    const nearer = await analyst(t, (text) =>
      text.replaceAll(/"\/[^"]*\/pls.yaml/g, '"package.json').replace('mljs.run', 'other.run'),
    );
    await writeFile(join(dirname(nearer.job), 'package.json'), 'not this one');
    const { stderr } = await sent(server, nearer.job, '--upload');
    assert.match(stderr, new RegExp(`^uploaded ${ROOT}package.json$`, 'm'));
  });

  it('uploads what marked ids name: a bundle as a zip or a folder, a pipeline, a dataset', async (t) => {
    const server = await startTestServer(t, { allowPythonJobs: true });
    const { job, dataset, pipeline } = await analyst(t);
    const zip = join(dirname(job), 'bundle.zip');
    await writeFile(zip, 'bytes of a zip');
    const code = (bundle: string) => ({
      kind: 'python_entrypoint',
      entrypoint: 'lab',
      bundle_artifact_id: `file:${bundle}`,
    });
    const spec = {
      type: 'mljs.run',
      pipelines: [code(zip), code(dataset), { kind: 'artifact', artifact_id: `file:${pipeline}` }],
      dataset: { kind: 'artifact', artifact_id: 'file:octane' },
    };
    await writeFile(job, JSON.stringify(spec));
    const { request } = await sent(server, job);
    const [zipped, folder, file] = request.pipelines;
    assert.deepEqual([file.kind, file.name, request.dataset.name], ['artifact', 'pls', 'octane']);
    assert.deepEqual(Object.keys(folder), ['kind', 'entrypoint', 'bundle_artifact_id']);
    const bytes = async (id: string) => buffer((await server.client.download(id)).body);
    assert.equal(`${await bytes(zipped.bundle_artifact_id)}`, 'bytes of a zip');
    assert.deepEqual(await bytes(folder.bundle_artifact_id), await bytes(request.dataset.artifact_id));
  });

  it('refuses a folder without files: exit code 2', async (t) => {
    const server = await startTestServer(t);
    const { job, dataset } = await analyst(t, (text) => text.replace('mljs.run', 'other.run'));
    await rm(dataset, { recursive: true });
    await mkdir(dataset);
    await writeFile(join(dataset, '.hidden'), 'not sent');
    assert.match(await refusal(server, job, '--upload'), /the dataset .*octane holds no files/);
  });

  it('follows links within a folder, and leaves out with a warning those that lead outside, nowhere or in a circle', async (t) => {
    const server = await startTestServer(t);
    const { job, dataset } = await analyst(t, (text) => text.replace('mljs.run', 'other.run'));
    await writeFile(join(dataset, '..', 'secret.txt'), 'not sent');
    for (const [target, name] of [
      ['../train_x.csv', 'deep/inside.csv'],
      ['../../secret.txt', 'deep/outside.txt'],
      ['nothing', 'dangling'],
      ['..', 'deep/up'],
      ['.', 'itself'],
      ['deep', 'again'],
    ] as const) {
      await symlink(target, join(dataset, name));
    }
    await writeFile(join(dataset, 'Thumbs.db'), 'not sent');
    const { request, stderr } = await sent(server, job, '--upload');
    const zip = await buffer((await server.client.download(request.dataset.artifact_id)).body);
    assert.deepEqual(await namesIn(zip), [
      'again/inside.csv',
      'again/note.txt',
      'deep/inside.csv',
      'deep/note.txt',
      'train_x.csv',
      'train_y.csv',
    ]);
    const told = [...stderr.matchAll(/left out: the link (\S+) (leads .*)$/gm)].map((m) => `${m[1]} ${m[2]}`);
    assert.deepEqual(told.map((line) => line.replace(/ to \/.*/, '')).sort(), [
      'again/outside.txt leads out of the folder,',
      'again/up leads back to a folder that it lies in',
      'dangling leads nowhere',
      'deep/outside.txt leads out of the folder,',
      'deep/up leads back to a folder that it lies in',
      'itself leads back to a folder that it lies in',
    ]);
  });

  it('knows ~ as the home directory', async (t) => {
    const server = await startTestServer(t);
    const { job, dataset } = await analyst(t, (text) => text.replaceAll(/"\/[^"]*\//g, '"~/'));
    const home = process.env.HOME;
    t.after(() => {
      process.env.HOME = home;
    });
    process.env.HOME = dirname(dataset);
    assert.equal((await sent(server, job, '--upload')).request.dataset.kind, 'artifact');
  });

  it('refuses a relative path that does not exist: exit code 2', async (t) => {
    const server = await startTestServer(t);
    const { job } = await analyst(t, (text) => text.replace(/"path":"[^"]*octane"/, '"path":"./octan"'));
    assert.match(
      await refusal(server, job, '--upload'),
      /^error: there is no .*octan, nor .*octan to upload, did you mean '.*octane'\?$/m,
    );
  });

  it('shows what it is doing, also while it packs a folder', async (t) => {
    const server = await startTestServer(t);
    const { job, dataset } = await analyst(t);
    // Enough for a bar that is drawn ten times a second.
    await writeFile(join(dataset, 'spectra.bin'), randomBytes(24 * 1024 * 1024));
    const { stderr } = await run(['submit', job, '--upload', '--server', server.url], { terminal: true });
    assert.match(stderr, /50% zipping octane/);
  });

  it('says once what the server refuses', async (t) => {
    const server = await startTestServer(t);
    const { job } = await analyst(t);
    await writeFile(
      job,
      '{"type":"mljs.run","pipeline":{"kind":"artifact","artifact_id":"x"},"dataset":{"kind":"shared_path","path":"/d"}}',
    );
    const stderr = await refusal(server, job, '--upload');
    assert.equal(stderr.match(/no artifact with id 'x'/g)?.length, 1, stderr);
  });

  it('refuses a marked path that does not exist, and submits nothing: exit code 2', async (t) => {
    const server = await startTestServer(t);
    const { job } = await analyst(t, (text) => text.replace('"path":"', '"path":"file:/nowhere'));
    assert.match(await refusal(server, job), /there is no \/nowhere.* to upload/);
    assert.deepEqual(await server.client.call('listJobs'), []);
  });
});

describe('run', () => {
  it('submits every pipeline on every dataset without a job file', async (t) => {
    const server = await startTestServer(t);
    const argv = ['run', '--lib', 'mljs', '--pipeline', 'a.yaml', '--pipeline', 'b.yaml', '--dataset', '/d'];
    const params = ['--param', 'alpha=1.0', '--param', 'mode=fast', '--param', 'list=[1e-3]'];
    const { code, stdout } = await run([...argv, ...params, '--name', 'quick', '--server', server.url]);
    assert.equal(code, 0);
    const request = await requestOf(server, stdout.trim());
    assert.match(request, /"params":\{"alpha":1\.0,"mode":"fast","list":\[1e-3\]\}/);
    const view = await server.client.call('getJob', { params: { id: stdout.trim() } });
    assert.deepEqual([view.type, view.name, view.aggregate.num_tasks], ['mljs.run', 'quick', 2]);
  });

  it('says what is missing: exit code 2', async () => {
    const { code, stderr } = await run(['run', '--lib', 'mljs', '--pipeline', `${ROOT}p.yaml`]);
    assert.equal(code, 2);
    assert.match(stderr, /--dataset is missing/);
  });
});
