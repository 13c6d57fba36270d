import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import WebSocket from 'ws';
import { run, start } from '../cli/cli-support.ts';
import { Authority } from '../support/certificates.ts';
import { clientOf } from '../support/client.ts';
import { Program, quietPort, ROOT } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

const TOKEN = 'behind-a-proxy';
const example = (name: string) => readFile(join(ROOT, 'examples/operations/proxy', name), 'utf8');

interface Place {
  folder: string;
  /** Where the proxy listens. */
  port: number;
  /** Where the server listens. */
  server: number;
  cert: string;
  key: string;
}

/** The example with the addresses and files of this machine, and nothing else changed. */
function here(text: string, { server, cert, key }: Place): string {
  const changed = text
    .replaceAll('127.0.0.1:8765', `127.0.0.1:${server}`)
    .replaceAll('/var/log/nginx/jq.log', '/dev/null')
    .replaceAll('/etc/ssl/queue.lab.pem', cert)
    .replaceAll('/etc/ssl/queue.lab.key', key);
  assert.ok(changed.includes(`${server}`) && changed.includes(cert) && changed.includes(key));
  return changed;
}

const PROXIES = {
  async nginx(place: Place): Promise<Program> {
    const { folder, port } = place;
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
    const paths = temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ');
    const site = here(await example('nginx.conf'), place).replace('listen 443', `listen 127.0.0.1:${port}`);
    const config = join(folder, 'nginx.conf');
    await writeFile(
      config,
      `daemon off; pid ${folder}/pid; error_log stderr; events {} http { access_log off; ${paths}\n${site}\n}`,
    );
    return new Program('nginx', ['-e', 'stderr', '-p', folder, '-c', config]);
  },
  async caddy(place: Place): Promise<Program> {
    const { folder, port } = place;
    const site = here(await example('Caddyfile'), place).replaceAll(
      'https://queue.lab',
      `https://127.0.0.1:${port}`,
    );
    const config = join(folder, 'Caddyfile');
    await writeFile(
      config,
      `{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\n${site}`,
    );
    return new Program('caddy', ['run', '--adapter', 'caddyfile', '--config', config], {
      ...{ HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    });
  },
};

async function behind(t: TestContext, name: keyof typeof PROXIES, trustProxy = ['loopback']) {
  const logFile = join(await temporaryDirectory(t), 'log');
  const server = await startTestServer(t, {
    ...{ basePath: '/jq', token: TOKEN, trustProxy, logFile, logLevel: 'info' },
  });
  const authority = await Authority.make(t);
  const folder = join(await temporaryDirectory(t), 'proxy');
  await mkdir(folder);
  const port = await quietPort();
  const certified = await authority.certify('queue.lab', 'IP:127.0.0.1');
  const proxy = await PROXIES[name]({ folder, port, server: server.port, ...certified });
  t.after(() => proxy.terminate());
  const ca = await readFile(authority.ca, 'utf8');
  const url = `https://127.0.0.1:${port}/jq`;
  const client = clientOf(t, url, { token: TOKEN, ca });
  await until(`${name} to serve`, async () => {
    assert.equal(proxy.over, false, proxy.stderr);
    return client.call('healthz').then(
      () => true,
      () => false,
    );
  });
  const flags = ['--server', url, '--token', TOKEN, '--ca', authority.ca];
  const lines = async () =>
    (await readFile(logFile, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { server, url, ca, client, flags, lines };
}

for (const name of ['nginx', 'caddy'] as const) {
  describe(`behind ${name}, by the configuration of the examples`, requires(name, 'openssl'), () => {
    it('jqctl and jq-worker work below a path: a job is run, followed and fetched', async (t) => {
      const { client, flags } = await behind(t, name);
      const state = join(await temporaryDirectory(t), 'worker');
      const worker = start('jq-worker', [...flags, '--state', state, '--json', '--log-level', 'silent']);
      t.after(() => worker.child.kill('SIGKILL'));
      await until('the worker', async () => (await client.call('listWorkers')).length > 0);
      const sent = [
        ...['run', '--lib', 'mljs', '--pipeline', 'examples/pipelines/pls.yaml'],
        ...['--dataset', 'examples/gasoline', '--upload', '--wait', '--json'],
      ];
      const job = await start('jqctl', [...sent, ...flags]).outcome;
      assert.equal(job.code, 0, job.stderr);
      const { id } = JSON.parse(job.stdout) as { id: string };
      const logs = await run(['logs', id, '--follow', ...flags]);
      assert.equal(logs.code, 0, logs.stderr);
      const out = join(await temporaryDirectory(t), 'out');
      assert.match((await run(['artifacts', id, '--out', out, ...flags])).stdout, /saved best_model\.json/);
    });

    it('artifacts pass through whole, and as they come', async (t) => {
      const { client, url, ca, server } = await behind(t, name);
      const bytes = randomBytes(8_000_000);
      const file = join(await temporaryDirectory(t), 'input.bin');
      await writeFile(file, bytes);
      const { artifact_id: id, sha256 } = await client.upload('uploadArtifact', { file });
      assert.equal(sha256, createHash('sha256').update(bytes).digest('hex'));
      const whole = await client.download(id);
      assert.ok((await buffer(whole.body)).equals(bytes));
      const part = await client.download(id, { range: 'bytes=5-9' });
      assert.deepEqual([part.status, await buffer(part.body)], [206, bytes.subarray(5, 10)]);

      const upload = httpsRequest(`${url}/v1/artifacts`, {
        ...{ method: 'POST', ca, agent: false },
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'multipart/form-data; boundary=x' },
      });
      const answered = new Promise<number | undefined>((resolve, reject) => {
        upload.on('response', (answer) => resolve(answer.resume().statusCode)).on('error', reject);
      });
      upload.write('--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n');
      upload.write(bytes.subarray(0, 1_000_000));
      const uploads = async () => /^jq_uploads_in_flight (\d+)/m.exec(await server.client.metrics())?.[1];
      await until('the server to have the beginning', async () => (await uploads()) === '1');
      upload.end('\r\n--x--\r\n');
      assert.equal(await answered, 200);
    });

    it('streams are live, and the page knows its server', async (t) => {
      const { client, url, ca } = await behind(t, name);
      const headers = { authorization: `Bearer ${TOKEN}`, origin: new URL(url).origin };
      const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/events/stream`, { ca, headers });
      t.after(() => socket.terminate());
      let events = 0;
      socket.on('message', () => events++);
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
      await client.call('registerWorker', { body: {} });
      await until('the event', () => events > 0);
      const page = await new Promise<{ status: number | undefined; policy: string; html: string }>(
        (resolve, reject) => {
          const sent = httpsRequest(`${url}/ui`, { ca, agent: false }, async (answer) => {
            const html = (await buffer(answer)).toString();
            const policy = String(answer.headers['content-security-policy']);
            resolve({ status: answer.statusCode, policy, html });
          });
          sent.on('error', reject).end();
        },
      );
      assert.equal(page.status, 200);
      assert.ok(page.policy.includes(`wss://${new URL(url).host}`), page.policy);
      assert.match(page.html, /<\/html>/);
    });

    it('the log has the address of the client, whatever that says of itself', async (t) => {
      const { url, ca, lines } = await behind(t, name);
      const status = await new Promise((resolve, reject) => {
        const headers = { authorization: 'Bearer wrong', 'x-forwarded-for': '203.0.113.7' };
        const sent = httpsRequest(
          `${url}/v1/stats`,
          { ca, headers, agent: false, localAddress: '127.0.0.3' },
          (a) => resolve(a.resume().statusCode),
        );
        sent.on('error', reject).end();
      });
      assert.equal(status, 401);
      const refused = await until('the line', async () =>
        (await lines()).find(({ code }) => code === 'unauthenticated'),
      );
      // The client is at a trusted address here, so what nginx passes on of its word counts; Caddy passes on nothing.
      assert.equal(refused.client, name === 'nginx' ? '203.0.113.7' : '127.0.0.3');
    });

    it('the log has the address that the proxy saw, where only the proxy is trusted', async (t) => {
      const { url, ca, lines } = await behind(t, name, ['127.0.0.1']);
      await new Promise((resolve, reject) => {
        const headers = { authorization: 'Bearer wrong', 'x-forwarded-for': '203.0.113.7' };
        const sent = httpsRequest(
          `${url}/v1/stats`,
          { ca, headers, agent: false, localAddress: '127.0.0.3' },
          (a) => resolve(a.resume().statusCode),
        );
        sent.on('error', reject).end();
      });
      const refused = await until('the line', async () =>
        (await lines()).find(({ code }) => code === 'unauthenticated'),
      );
      assert.equal(refused.client, '127.0.0.3');
    });
  });
}
