import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { startTestServer, type TestServer, temporaryDirectory } from '../support/server.ts';
import { ROOT, run } from './cli-support.ts';

/** A pipeline file, a dataset folder and a job file that names both. */
async function analyst(t: TestContext, change: (job: string) => string = (job) => job) {
  const folder = await temporaryDirectory(t);
  const [pipeline, dataset] = [join(folder, 'pls.yaml'), join(folder, 'octane')];
  await writeFile(pipeline, '[{pls: {components: 2}}]');
  await mkdir(join(dataset, 'deep'), { recursive: true });
  await writeFile(join(dataset, 'train_x.csv'), '1,2\n3,4\n');
  await writeFile(join(dataset, 'deep', 'note.txt'), 'x');
  await writeFile(join(dataset, '.hidden'), 'not sent');
  const job = join(folder, 'job.json');
  const text = `{"type":"mljs.run","pipelines":[{"kind":"path","path":"${pipeline}"},{"kind":"path","path":"${pipeline}"}],"dataset":{"kind":"shared_path","path":"${dataset}"},"params":{"a":1.0,"n":12345678901234567890}}`;
  await writeFile(job, change(text));
  return { job, pipeline, dataset };
}

const requestOf = (server: TestServer, id: string) =>
  server.client.callText('getJobRequest', { params: { id } });

describe('submit --upload', () => {
  it('names artifacts in place of what exists here, and leaves every number as it is written', async (t) => {
    const server = await startTestServer(t);
    const { job } = await analyst(t);
    const { code, stdout } = await run(['submit', job, '--upload', '--server', server.url]);
    assert.equal(code, 0);
    const request = await requestOf(server, stdout.trim());
    assert.match(request, /"params":\{"a":1\.0,"n":12345678901234567890\}/);
    const { pipelines, dataset } = JSON.parse(request);
    assert.deepEqual([dataset.kind, dataset.name], ['artifact', 'octane']);
    assert.equal(pipelines[0].kind, 'artifact');
    // Equal content is sent once.
    assert.equal(pipelines[0].artifact_id, pipelines[1].artifact_id);
    const { body } = await server.client.download(pipelines[0].artifact_id);
    assert.equal(await new Response(body as never).text(), '[{pls: {components: 2}}]');
  });

  it('packs equal folders into equal bytes', async (t) => {
    const server = await startTestServer(t);
    const digests: (string | string[] | undefined)[] = [];
    for (const { job } of [await analyst(t), await analyst(t)]) {
      const { stdout } = await run(['submit', job, '--upload', '--server', server.url]);
      const { dataset } = JSON.parse(await requestOf(server, stdout.trim()));
      const { headers, body } = await server.client.download(dataset.artifact_id);
      await new Response(body as never).arrayBuffer();
      digests.push(headers.etag);
    }
    assert.equal(digests[0], digests[1]);
  });

  it('sends what the job marks with file: also without the flag, and nothing else', async (t) => {
    const server = await startTestServer(t);
    const { job, dataset } = await analyst(t, (text) => text.replace('"path":"', '"path":"file:'));
    const { stdout } = await run(['submit', job, '--server', server.url]);
    const request = JSON.parse(await requestOf(server, stdout.trim()));
    assert.deepEqual(
      request.pipelines.map((pipeline: { kind: string }) => pipeline.kind),
      ['artifact', 'path'],
    );
    assert.equal(request.dataset.path, dataset);
  });

  it('leaves paths that exist only on the workers as they are', async (t) => {
    const server = await startTestServer(t);
    const { job } = await analyst(t, (text) => text.replaceAll('octane', 'elsewhere'));
    const { stdout } = await run(['submit', job, '--upload', '--server', server.url]);
    const { dataset } = JSON.parse(await requestOf(server, stdout.trim()));
    assert.equal(dataset.kind, 'shared_path');
  });

  it('refuses a marked path that does not exist, and submits nothing: exit code 2', async (t) => {
    const server = await startTestServer(t);
    const { job } = await analyst(t, (text) => text.replace('"path":"', '"path":"file:/nowhere'));
    const { code, stderr } = await run(['submit', job, '--server', server.url]);
    assert.equal(code, 2);
    assert.match(stderr, /there is no \/nowhere.* to upload/);
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
