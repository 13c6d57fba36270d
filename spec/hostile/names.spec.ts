import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { run } from '../cli/cli-support.ts';
import { browserForTests } from '../dashboard/browser.ts';
import { ask, multipart } from '../gateway/support.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, type TestServer, temporaryDirectory } from '../support/server.ts';
import { NASTY_TEXTS } from './nasty.ts';

const worded = (text: string) => text.replace(/\p{Cs}/gu, '\ufffd');

interface Held {
  server: TestServer;
  job: string;
  task: string;
  worker: string;
}

/** A job whose task is running on a worker of the test's own, everything about it named as told. */
async function held(t: TestContext, name = 'names'): Promise<Held> {
  const server = await startTestServer(t);
  const { client } = server;
  const labels = { [name]: name };
  const version = { cluster: name, packages: { demo: '1.0', [name]: name } };
  const { worker_id: worker } = await client.call('registerWorker', {
    body: { name: name.slice(0, 500), labels, version },
  });
  const text = JSON.stringify({
    type: 'demo.run',
    name: name.slice(0, 500),
    pipeline: { kind: 'path', path: name || 'x' },
    dataset: { kind: 'shared_path', path: name || 'x', name },
  });
  const { id: job } = await client.call('submitJob', { text });
  const { task } = await client.call('lease', { params: { id: worker } });
  const params = { id: task?.task_id as string };
  await client.call('startTask', { params, query: { worker_id: worker } });
  return { server, job, task: params.id, worker };
}

/** Uploads some bytes as an output of the task under a name, in the form that says it in full. */
async function upload({ server, task, worker }: Held, filename: string, role = 'output'): Promise<number> {
  const encoded = encodeURIComponent(worded(filename));
  const { body, type } = multipart([
    { disposition: `name="file"; filename*=UTF-8''${encoded}`, content: `bytes of ${encoded}` },
  ]);
  const line = `POST /v1/tasks/${task}/artifacts?worker_id=${worker}&role=${encodeURIComponent(role)}`;
  const answer = await ask(server.port, { line, headers: { 'Content-Type': type }, body });
  assert.ok(answer.status === 200 || answer.status === 400, `${JSON.stringify(filename)}: ${answer.body}`);
  return answer.status;
}

/** Each nasty name as the name of an artifact, under a role of its own. */
async function withNastyArtifacts(held: Held): Promise<void> {
  for (const [i, name] of NASTY_TEXTS.entries()) await upload(held, name, `role-${i}`);
}

describe('a file name that nobody should have', () => {
  it('is sent in a Content-Disposition that holds one line of ASCII, its quotes in pairs', async (t) => {
    const cluster = await held(t);
    await withNastyArtifacts(cluster);
    const { client, port } = cluster.server;
    for (const { id, filename } of await client.call('listJobArtifacts', { params: { id: cluster.job } })) {
      const answer = await ask(port, { line: `GET /v1/artifacts/${id}` });
      const disposition = answer.headers.get('content-disposition') ?? '';
      assert.match(
        disposition,
        /^attachment; filename="[\x20\x21\x23-\x5b\x5d-\x7e]*"(; filename\*=UTF-8''[\w.%!~-]+)?$/,
      );
      const full = /filename\*=UTF-8''(.*)$/.exec(disposition)?.[1];
      if (full !== undefined) assert.equal(decodeURIComponent(full), filename);
      assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
      assert.equal(answer.headers.get('content-type'), 'application/octet-stream');
    }
  });

  it('of a file on this machine can be uploaded, line breaks and all', async (t) => {
    const { client } = await startTestServer(t);
    const folder = await temporaryDirectory(t);
    for (const name of [
      'two\nlines',
      'carriage\rreturn',
      'quote"d',
      '\u001b[31m',
      '-rf',
      'ä'.repeat(120),
      'x\u202ey',
    ]) {
      const file = join(folder, name);
      await writeFile(file, name);
      const { artifact_id } = await client
        .call('listJobs')
        .then(() => client.upload('uploadArtifact', { file }));
      const { body } = await client.download(artifact_id);
      const chunks: Buffer[] = [];
      for await (const chunk of body) chunks.push(chunk as Buffer);
      assert.equal(Buffer.concat(chunks).toString(), name);
    }
  });

  it('in a folder that is submitted reaches the archive, with every name that a disk can hold', async (t) => {
    const server = await startTestServer(t);
    const folder = await temporaryDirectory(t);
    await mkdir(join(folder, 'data'));
    const names = NASTY_TEXTS.filter(
      (n) => n !== '' && n !== '.' && n !== '..' && !/[/\0]|\p{Cs}/u.test(n) && Buffer.byteLength(n) < 250,
    );
    for (const name of names) await writeFile(join(folder, 'data', name), 'x');
    const argv = [
      'run',
      '--lib',
      'demo',
      '--pipeline',
      join(folder, 'data', '~'),
      '--dataset',
      join(folder, 'data'),
    ];
    const { code, stdout, stderr } = await run([...argv, '--upload', '--server', server.url]);
    // Names that no archive may hold are refused with their name, before anything is sent.
    assert.ok(code === 0 || code === 2, stderr);
    assert.doesNotMatch(stdout + stderr, /[^\P{Cc}\n]|\u202e/u, stderr);
  });
});

describe('hostile texts in every place where there may be text', () => {
  /** Names chosen for what they would do: drive a terminal, break out of HTML, reorder a line. */
  const EVIL = [
    '\u001b[31mred\u001b]0;title\u0007',
    '<script>window.owned=1</script>',
    '"><img src=x onerror="window.owned=1">',
    '\u202egpj.exe',
    'line\nfake: line\r\nand more',
    '\u009b2J\u0085',
    'javascript:window.owned=1',
  ];

  /** What drives a terminal, or reorders a line. */
  const CONTROLS = /[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/u;
  const readersOf = (job: string) => [
    ...[['jobs'], ['status', job], ['logs', job]],
    ...[['artifacts', job], ['workers'], ['events']],
  ];

  async function evilCluster(t: TestContext, evil: string): Promise<Held> {
    const cluster = await held(t, evil);
    const { server, task, worker } = cluster;
    const params = { id: task };
    const query = { worker_id: worker };
    const event = { type: evil, level: 'error' as const, message: evil, data: { [evil]: evil } };
    await server.client.call('reportEvents', {
      params,
      query,
      body: { events: [event, { type: 'log', message: evil }] },
    });
    await upload(cluster, evil, evil);
    await server.client.call('failTask', {
      params,
      query,
      body: { error: evil, traceback: evil, retriable: false },
    });
    return cluster;
  }

  it('reach a terminal only as text', async (t) => {
    for (const evil of EVIL) {
      const { server, job } = await evilCluster(t, evil);
      const at = ['--server', server.url];
      for (const argv of [
        ...readersOf(job),
        ['stats'],
        ['cancel', job],
        ['retry', evil],
        ['status', evil],
        [evil],
      ]) {
        const { stdout, stderr } = await run([...argv, ...at], { terminal: true });
        // What remains are the colours of the program itself.
        // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control sequences
        const rest = (stdout + stderr).replace(/\u001b\[\d{1,2}m/g, '');
        assert.doesNotMatch(rest, CONTROLS, `${argv}: ${JSON.stringify(rest)}`);
        assert.doesNotMatch(rest, /^fake: line/m, `${argv}`);
      }
    }
  });

  it('under --json are the JSON of the server, line by line', async (t) => {
    for (const evil of EVIL) {
      const { server, job } = await evilCluster(t, evil);
      for (const argv of readersOf(job)) {
        const { stdout } = await run([...argv, '--json', '--server', server.url]);
        for (const line of stdout.trimEnd().split('\n')) JSON.parse(line);
        assert.doesNotMatch(stdout, CONTROLS, `${argv}`);
      }
    }
  });

  describe('on the dashboard', requires('chromium'), () => {
    const open = browserForTests();

    it('are text: they run no script, make no element and load nothing', async (t) => {
      for (const evil of EVIL) {
        const { server, job } = await evilCluster(t, evil);
        const page = await open(server.url, { path: `/ui?job=${job}` });
        await page.getByText('Live', { exact: true }).waitFor();
        await page.locator('#jobs').getByText('failed').first().waitFor();
        const owned = await page.evaluate('window.owned');
        assert.equal(owned, undefined, 'nothing ran');
        const made = await page.locator('img[src="x"], a[href^="javascript:"]').count();
        const scripts = await page.evaluate(
          '[...document.scripts].some((s) => s.textContent.includes("owned=1"))',
        );
        assert.deepEqual([made, scripts], [0, false], JSON.stringify(evil));
      }
    });
  });

  it('never reach the disk as a path of the server', async (t) => {
    const cluster = await held(t);
    await withNastyArtifacts(cluster);
    const files = await readdir(cluster.server.stateDir, { recursive: true });
    for (const file of files)
      assert.match(
        file,
        /^(objects(\/[0-9a-f]{2}){0,2}(\/[0-9a-f]{64})?|[\w.-]+|objects\/[\w.-]+(\/[\w.-]+)?)$/,
      );
    assert.ok(
      (await readFile(join(cluster.server.stateDir, 'store.sqlite'))).length > 0,
      'the store is there',
    );
  });
});
