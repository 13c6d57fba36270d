import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Runner } from '../../actors/worker/config.ts';
import type { TaskView } from '../../machines/schema/views.ts';
import { deferred } from '../support/deferred.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { sha256 } from '../support/sha256.ts';
import { until } from '../support/until.ts';
import { CatalogServer } from './catalog-server.ts';
import { CountingLine } from './counting-line.ts';
import { demoRunner } from './demo-runner.ts';
import { atEnd, exists, temporaryFolder } from './folder.ts';
import { rawZip } from './raw-zip.ts';
import { smallDisk } from './small-disk.ts';
import { pidIn, startTestWorker, submit, taskIn, uploadInput } from './support.ts';

const PROGRAM = fileURLToPath(new URL('./fixtures/worker.ts', import.meta.url));
const zipped = (text: string) => rawZip([{ name: 'corn/train.csv', data: text }]);
const artifact = (artifact_id: string) => ({ dataset: { kind: 'artifact', artifact_id } });
const keptIn = (cacheDir: string) => readdir(join(cacheDir, 'entries'));

/** A runner whose result tells the dataset's first file, before a shell script does something to it. */
const reading = (script: string): Runner => ({
  library: 'demo',
  packages: { demo: '1.0' },
  command: [
    '/bin/sh',
    '-c',
    `data=$(sed 's/.*"dataset":{"mode":"path","path":"\\([^"]*\\)".*/\\1/' "$2")
result=$8
seen=$(cat "$data/train.csv"; ls "$data" | tr '\\n' ' ')
${script}
printf '{"status":"succeeded","extra":{"seen":"%s","path":"%s"}}' "$seen" "$data" > "$result"`,
    'runner',
  ],
});
const extra = (task: TaskView) => (task.result?.extra ?? {}) as { seen: string; path: string; spec: string };
const specOf = (task: TaskView) => JSON.parse(extra(task).spec);

async function withDataset(t: TestContext, text = 'corn') {
  const server = await startTestServer(t, { allowPythonJobs: true });
  const line = await CountingLine.to(t, server);
  const id = await uploadInput(t, server, 'corn.zip', zipped(text));
  return { server, line, id };
}

/** Submits so many tasks at once, and gives them when they have succeeded. */
async function several(server: TestServer, count: number, differs: object, params: object = { do: 'echo' }) {
  const jobs = await Promise.all(
    Array.from({ length: count }, () => submit(server, params as Record<string, unknown>, { ...differs })),
  );
  const tasks = await Promise.all(jobs.map((job) => taskIn(server, job)));
  for (const { status, error } of tasks) assert.equal(status, 'succeeded', `${error}`);
  return tasks;
}

describe('an artifact that many tasks name', () => {
  it('is fetched once for slots that want it at the same time, and not again for those that come later', async (t) => {
    const { server, line, id } = await withDataset(t);
    const held = deferred<boolean>();
    line.meet = (request) => (request.startsWith('GET /v1/artifacts/') ? held.promise : false);
    const worker = await startTestWorker(t, line, { slots: 4 });
    const all = several(server, 4, artifact(id));
    await until('all four to have asked what it is', () => line.count(id, 'HEAD') >= 4);
    await until('one to fetch it', () => line.count(id) >= 1);
    held.resolve(false);
    const paths = (await all).map((task) => specOf(task).dataset.path as string);
    assert.equal(new Set(paths).size, 4, 'each has its own');
    assert.ok(paths.every((path) => basename(path) === 'corn'));
    const asked = line.count(id, 'HEAD');
    await several(server, 4, artifact(id));
    assert.deepEqual([line.given(id), line.count(id, 'HEAD')], [1, asked], line.story);
    assert.deepEqual(await keptIn(join(worker.state, 'cache')), [`${sha256(zipped('corn'))}-zip`]);
  });

  it('is fetched once by two workers that share a cache, at the same time and one after the other', async (t) => {
    const { server, line, id } = await withDataset(t);
    const cacheDir = await temporaryFolder(t);
    const folder = await temporaryFolder(t);
    const held = deferred<boolean>();
    line.meet = (request) => (request.startsWith('GET /v1/artifacts/') ? held.promise : false);
    for (let n = 0; n < 2; n++) await startTestWorker(t, line, { cacheDir });
    const go = join(folder, 'go');
    const marks = ['a', 'b'].map((name) => join(folder, name));
    for (const mark of marks) await submit(server, { do: 'wait', mark, until: go }, artifact(id));
    await until('both to have asked what it is', () => line.count(id, 'HEAD') >= 2);
    await until('one to fetch it', () => line.count(id) >= 1);
    held.resolve(false);
    for (const mark of marks) await pidIn(mark);
    await writeFile(go, '');
    await several(server, 4, artifact(id));
    assert.equal(line.given(id), 1, line.story);
  });

  it('may be a pipeline or a bundle: each task finds it under the name of its own artifact', async (t) => {
    const { server, line } = await withDataset(t);
    const pipelines = [
      await uploadInput(t, server, 'one.json', '{"steps":[]}'),
      await uploadInput(t, server, 'two.yaml', '{"steps":[]}'),
    ];
    const bundle = await uploadInput(t, server, 'b.zip', rawZip([{ name: 'm.py', data: '' }]));
    await startTestWorker(t, line, { allowPython: true });
    const names = [];
    for (const artifact_id of [...pipelines, ...pipelines]) {
      const [task] = await several(server, 1, { pipeline: { kind: 'artifact', artifact_id } });
      assert.equal(task?.result?.pipeline_fingerprint, `sha256:${sha256('{"steps":[]}')}`);
      names.push(basename(specOf(task as TaskView).pipeline.path));
    }
    const both = ['pipeline-one.json', 'pipeline-two.yaml'];
    assert.deepEqual(names, [...both, ...both]);
    assert.deepEqual(pipelines.map((id) => line.given(id)).sort(), [0, 1], 'equal bytes are one entry');
    const entry = { kind: 'python_entrypoint', entrypoint: 'm:f', bundle_artifact_id: bundle };
    for (const task of await several(server, 2, { pipeline: entry }))
      assert.equal(basename(specOf(task).pipeline.sys_path[0]), 'bundle');
    assert.equal(line.given(bundle), 1, line.story);
  });

  it('is the same as a dataset of the catalog with its bytes; each keeps the name that it has there', async (t) => {
    const { server, line } = await withDataset(t);
    const catalog = await CatalogServer.start(t);
    const bytes = rawZip([{ name: 'train.csv', data: 'rye' }]);
    catalog.addFile('rye.zip', bytes, { id: 'rye', version: '1' });
    const id = await uploadInput(t, server, 'r.zip', bytes);
    await startTestWorker(t, line, { catalog: catalog.index });
    const [mine] = await several(server, 1, artifact(id));
    const [shared] = await several(server, 1, { dataset: { kind: 'catalog', catalog_id: 'rye' } });
    const names = [mine, shared].map((task) => basename(specOf(task as TaskView).dataset.path));
    assert.deepEqual(names, ['dataset', 'rye']);
    assert.deepEqual([line.given(id), catalog.count('rye.zip')], [1, 0], line.story);
  });

  it('is fetched for each task where nothing may be kept, or where the server does not give its hash', async (t) => {
    const { server, line, id } = await withDataset(t);
    const none = await startTestWorker(t, line, { cacheGb: 0 });
    for (const times of [1, 2]) {
      await several(server, 1, artifact(id));
      assert.equal(line.given(id), times, line.story);
      await until('it to be gone', async () => (await keptIn(join(none.state, 'cache'))).length === 0);
    }
    await none.stop();

    line.meet = (request, answer, outgoing) => {
      if (request.startsWith('HEAD ')) outgoing.writeHead(405).end();
      else delete answer.headers.etag;
      return request.startsWith('HEAD ');
    };
    const modest = await startTestWorker(t, line);
    const before = line.given(id);
    for (const task of await several(server, 2, artifact(id)))
      assert.equal(basename(specOf(task).dataset.path), 'corn');
    assert.equal(line.given(id), before + 2, line.story);
    assert.deepEqual(await keptIn(join(modest.state, 'cache')), []);
  });

  it('fails its task with its name when it never arrives whole, and nothing of it is kept', async (t) => {
    const { server, line, id } = await withDataset(t);
    line.meet = (request, answer, outgoing) => {
      if (!request.startsWith('GET /v1/artifacts/')) return false;
      outgoing.writeHead(200, { etag: String(answer.headers.etag) }).end('rotten');
      return true;
    };
    const worker = await startTestWorker(t, line);
    const task = await taskIn(server, await submit(server, { do: 'echo' }, artifact(id)));
    assert.equal(task.status, 'failed');
    assert.match(`${task.error}`, new RegExp(`artifact '${id}' arrived damaged .*, 3 times`));
    assert.equal(line.given(id), 3, line.story);
    const cache = join(worker.state, 'cache');
    assert.deepEqual([await keptIn(cache), await readdir(join(cache, 'drafts'))], [[], []]);
  });
});

describe('a task that writes into its inputs', () => {
  const WRITES = `
rm "$data/train.csv"; printf other > "$data/train.csv"
printf more > "$data/more.csv"; ln -s / "$data/link"`;

  it('writes into its own copy of an artifact: those beside it and after it see what was uploaded', async (t) => {
    const { server, line, id } = await withDataset(t);
    await startTestWorker(t, line, {
      slots: 3,
      runners: [reading(`printf x >> "$data/train.csv"; ${WRITES}`)],
    });
    for (let round = 0; round < 2; round++) {
      const tasks = await several(server, 3, artifact(id));
      assert.deepEqual([...new Set(tasks.map((task) => extra(task).seen))], ['corntrain.csv ']);
    }
    assert.equal(line.given(id), 1, line.story);
  });

  // Whoever may write to what is read only: the superuser, or a program that changes modes first.
  const HARM = `chmod -R u+w "$data"; ${WRITES}`;

  it('fails where it changes a dataset of the catalog, which is only to be read; later ones see it as it was', async (t) => {
    const [server, catalog] = [await startTestServer(t), await CatalogServer.start(t)];
    catalog.add('corn', '1', 5);
    const go = join(await temporaryFolder(t), 'go');
    const script = `if [ -e ${go} ]; then :; else ${HARM}; fi`;
    await startTestWorker(t, server, { catalog: catalog.index, runners: [reading(script)] });
    const of = { dataset: { kind: 'catalog', catalog_id: 'corn' }, retry: { max_attempts: 1 } };
    const task = await taskIn(server, await submit(server, {}, of));
    assert.equal(task.status, 'failed');
    assert.match(`${task.error}`, /dataset corn@1 was changed while the task ran; it is only to be read/);
    await writeFile(go, '');
    const [next] = await several(server, 1, of);
    assert.equal(extra(next as TaskView).seen, 'corn1train.csv ');
    assert.equal(catalog.count('corn-1.zip'), 2);
  });

  it('fails also the tasks that read the same dataset of the catalog meanwhile, rather than let them succeed', async (t) => {
    const [server, catalog] = [await startTestServer(t), await CatalogServer.start(t)];
    catalog.add('corn', '1', 5);
    const folder = await temporaryFolder(t);
    const [mark, go] = [join(folder, 'mark'), join(folder, 'go')];
    const writer = { ...reading(HARM), library: 'writer', packages: { writer: '1.0' } };
    await startTestWorker(t, server, { catalog: catalog.index, slots: 2, runners: [demoRunner, writer] });
    const of = { dataset: { kind: 'catalog', catalog_id: 'corn' }, retry: { max_attempts: 1 } };
    const reader = await submit(server, { do: 'wait', mark, until: go }, of);
    await pidIn(mark);
    await taskIn(server, await submit(server, {}, { ...of, type: 'writer.run' }));
    await writeFile(go, '');
    const task = await taskIn(server, reader);
    assert.deepEqual([task.status, /was changed while/.test(`${task.error}`)], ['failed', true]);
  });
});

describe('the cache of a worker that is killed', () => {
  async function killable(t: TestContext, line: { url: string }, state: string): Promise<ChildProcess> {
    const args = ['--import', 'tsx', PROGRAM, line.url, state];
    const program = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    atEnd(t, () => program.kill('SIGKILL'));
    return program;
  }

  /** Kills a worker at a moment, starts another one on its state directory, and looks what it finds. */
  async function survives(
    t: TestContext,
    bytes: Buffer,
    moment: (draft: string) => Promise<boolean>,
    break_: boolean,
  ) {
    const server = await startTestServer(t);
    const line = await CountingLine.to(t, server);
    const id = await uploadInput(t, server, 'corn.zip', bytes);
    const state = await temporaryFolder(t);
    const key = `${sha256(bytes)}-zip`;
    const cache = join(state, 'cache');
    line.meet = (request, answer, outgoing) => {
      if (!break_ || !request.startsWith('GET /v1/artifacts/')) return false;
      outgoing.writeHead(200, answer.headers);
      answer.once('data', (chunk: Buffer) => outgoing.write(chunk.subarray(0, 100)));
      return true;
    };
    const kept = () => keptIn(cache).catch(() => []);
    // One that was faster than could be seen begins anew.
    const job = await until(
      'one to be killed at the moment',
      async () => {
        const program = await killable(t, line, state);
        const job = await submit(server, { do: 'echo' }, { ...artifact(id), retry: { max_attempts: 5 } });
        const isThere = async () => (await moment(join(cache, 'drafts', key))) || (await kept()).length > 0;
        await until('the moment', isThere);
        program.kill('SIGKILL');
        await once(program, 'exit');
        if ((await kept()).length === 0) return job;
        await rm(state, { recursive: true });
        return null;
      },
      180,
    );
    assert.deepEqual(await keptIn(cache), []);
    assert.deepEqual(await readdir(join(cache, 'drafts')), [key]);
    line.meet = () => false;
    await killable(t, line, state);
    const task = await taskIn(server, job);
    assert.equal(task.status, 'succeeded', `${task.error}`);
    assert.deepEqual(await keptIn(cache), [key]);
    await until(
      'the half-written one to be gone',
      async () => (await readdir(join(cache, 'drafts'))).length === 0,
    );
    return join(cache, 'entries', key, 'data', 'dataset', 'corn', 'train.csv');
  }

  it('in the middle of a download holds nothing of it, and the next worker gets it whole', async (t) => {
    const arrives = async (draft: string) =>
      (await readdir(join(draft, 'fetched')).catch(() => [])).length > 0;
    const file = await survives(t, zipped('corn'), arrives, true);
    assert.equal(await readFile(file, 'utf8'), 'corn');
  });

  it('in the middle of unpacking holds nothing of it, and the next worker gets it whole', async (t) => {
    const text = 'x'.repeat(64 * 1024 * 1024);
    const unpacks = (draft: string) => exists(join(draft, 'data', 'dataset', 'corn', 'train.csv'));
    const file = await survives(t, zipped(text), unpacks, false);
    assert.equal((await readFile(file)).length, text.length);
  });

  it('is cleared of what was left behind before any task comes', async (t) => {
    const server = await startTestServer(t);
    const state = await temporaryFolder(t);
    const worker = await startTestWorker(t, server, { state });
    await worker.stop();
    const half = join(state, 'cache', 'drafts', `${'0'.repeat(64)}-zip`);
    await writeFile(half, 'half');
    await startTestWorker(t, server, { state });
    await until('it to be gone', async () => !(await exists(half)));
  });
});

describe('a disk that has no room for a dataset', () => {
  it(
    'is the fault of the worker, once cached inputs have been removed',
    requires('small disk'),
    async (t) => {
      const disk = smallDisk(t, 24);
      const server = await startTestServer(t);
      const upload = (envelope: string, mib: number) =>
        uploadInput(t, server, `${envelope}.zip`, zipped(envelope.repeat(mib * 1024 * 1024)));
      // One takes the archive, what was unpacked and the copy of the task, one after the other.
      const [a, b, large] = [await upload('a', 5), await upload('b', 7), await upload('c', 30)];
      await startTestWorker(t, server, { state: join(disk.path, 'state') });
      await several(server, 1, artifact(a));
      await several(server, 1, artifact(b));
      const task = await taskIn(server, await submit(server, { do: 'echo' }, artifact(large)));
      assert.equal(task.status, 'failed');
      assert.match(`${task.error}`, /its disk is full \(ENOSPC/);
      await several(server, 1, artifact(a));
    },
  );
});
