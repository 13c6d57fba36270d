import assert from 'node:assert/strict';
import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { Agent, request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import WebSocket from 'ws';
import { objectPath } from '../../actors/server/blobs/paths.ts';
import { chooseTransport } from '../../gateway/transport/choose.ts';
import { run } from '../cli/cli-support.ts';
import { Hand } from '../dashboard/hands.ts';
import { rot } from '../process/backup-support.ts';
import { Authority, install } from '../support/certificates.ts';
import { JOB } from '../support/job.ts';
import { requires } from '../support/requires.ts';
import { type TestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { secure, shownBy } from './tls-support.ts';

const { transport: auto } = await chooseTransport('auto');
/** The sockets that listen on a port, by which the kernel tells them apart. */
const listenersOf = (port: number): string[] =>
  ['tcp', 'tcp6'].flatMap((family) =>
    readFileSync(`/proc/net/${family}`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => state === '0A' && parseInt(local?.split(':')[1] ?? '', 16) === port)
      .map((cells) => cells[9] ?? ''),
  );

const filesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

/** A stream of all events, and how many came. */
async function streamOf(t: TestContext, server: TestServer, ca: Buffer) {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/events/stream`, { ca });
  t.after(() => socket.terminate());
  const seen = { events: 0, closed: false };
  socket.on('message', () => seen.events++);
  socket.on('close', () => {
    seen.closed = true;
  });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return seen;
}

for (const transport of auto.name === 'uws' ? (['uws', 'node'] as const) : (['node'] as const)) {
  describe(`TLS by ${transport}`, requires('openssl'), () => {
    it('carries requests, uploads, downloads in pieces, and streams', async (t) => {
      const { server, client, ca } = await secure(t, transport);
      assert.match(server.url, /^https:/);
      const stream = await streamOf(t, server, ca);
      const bytes = randomBytes(6_000_000);
      const file = join(await temporaryDirectory(t), 'input.bin');
      await writeFile(file, bytes);
      const { artifact_id: id, sha256 } = await client.upload('uploadArtifact', { file });
      assert.equal(sha256, createHash('sha256').update(bytes).digest('hex'));
      const { body } = await client.download(id);
      assert.ok((await buffer(body)).equals(bytes));
      await client.call('submitJob', { text: JSON.stringify(JOB) });
      await until('the event of the job', () => stream.events > 0);
    });

    it('knows the origin of its own pages, and no other', async (t) => {
      const { server, ca } = await secure(t, transport);
      const status = (origin: string) =>
        new Promise((resolve, reject) => {
          const headers = { origin };
          const sent = httpsRequest(`${server.url}/v1/stats`, { ca, agent: false, headers }, (answer) => {
            answer.resume();
            resolve(answer.statusCode);
          });
          sent.on('error', reject).end();
        });
      assert.equal(await status(server.url), 200);
      assert.equal(await status(server.url.replace('https', 'http')), 403);
      assert.equal(await status('https://elsewhere.example'), 403);
    });

    it('shows a new certificate after a reload, and loses neither connections, nor streams, nor what is under way', async (t) => {
      const { authority, tls, server, ca, shown, client } = await secure(t, transport);
      const agent = new Agent({ keepAlive: true, maxSockets: 1, ca });
      t.after(() => agent.destroy());
      const sockets = new Set<unknown>();
      const ask = () =>
        new Promise<string>((resolve, reject) => {
          const sent = httpsRequest(`${server.url}/healthz`, { agent }, (answer) => {
            sockets.add(answer.socket);
            const shows = String((answer.socket as TLSSocket).getPeerCertificate().subject.CN);
            answer.resume().on('end', () => resolve(shows));
          });
          sent.on('error', reject).end();
        });
      assert.equal(await ask(), 'first');
      const stream = await streamOf(t, server, ca);
      const body = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhalf';
      const upload = httpsRequest(`${server.url}/v1/artifacts`, {
        ...{ method: 'POST', ca, agent: false },
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
      });
      const uploaded = new Promise<number | undefined>((resolve, reject) => {
        upload.on('response', (answer) => resolve(answer.resume().statusCode)).on('error', reject);
      });
      upload.write(body);
      await until('the upload to have begun', () => upload.socket?.bytesWritten);

      for (const name of ['second', 'third']) {
        await install(await authority.certify(name), tls);
        await server.reload();
        assert.equal(await shown(), name);
      }
      assert.equal(await ask(), 'first', 'an open connection goes on as it began');
      assert.equal(sockets.size, 1);
      upload.end(' and half\r\n--x--\r\n');
      assert.equal(await uploaded, 200);
      await client.call('submitJob', { text: JSON.stringify(JOB) });
      await until('the event of the job', () => stream.events > 0);
      assert.equal(stream.closed, false);
    });

    it('opens its port anew only where certificate or key have changed, and tells when the certificate expires', {
      ...requires('proc'),
    }, async (t) => {
      const { authority, tls, server, client, shown } = await secure(t, transport);
      const before = listenersOf(server.port);
      assert.equal(before.length, 1);
      for (let i = 0; i < 3; i++) await server.reload();
      assert.deepEqual(listenersOf(server.port), before);
      const told = /^jq_tls_certificate_expires_seconds\{subject="CN=first"\} (\S+)$/m.exec(
        await client.metrics(),
      )?.[1];
      assert.equal(Number(told), Date.parse(new X509Certificate(await readFile(tls.cert)).validTo) / 1000);
      await install(await authority.certify('second'), tls);
      await server.reload();
      assert.equal(await shown(), 'second');
    });

    it('keeps the certificate that it has where the new one is of no use', async (t) => {
      const { authority, tls, server, shown } = await secure(t, transport);
      const other = await authority.certify('other');
      const cases: [title: string, file: string, text: string | Buffer, says: RegExp][] = [
        ['another key', tls.key, await readFile(other.key), /key\.pem is not the key of the certificate/],
        ['no key', tls.key, 'hush', /key\.pem holds no private key/],
        ['no certificate', tls.cert, '', /cert\.pem holds no certificate/],
      ];
      for (const [title, file, text, says] of cases) {
        const good = await readFile(file);
        await writeFile(file, text);
        await assert.rejects(server.reload(), says, title);
        assert.equal(await shown(), 'first', title);
        await writeFile(file, good);
      }
      await server.reload();
    });

    it('breaks off a download of damaged bytes as an error, not as a short file', async (t) => {
      const { server, client, authority } = await secure(t, transport);
      const folder = await temporaryDirectory(t);
      const hand = await Hand.register(client);
      const { id } = await client.call('submitJob', { text: JSON.stringify(JOB) });
      const task = await hand.run();
      const upload = (role: string) =>
        hand.upload(task, folder, role, `${role}.bin`, randomBytes(3_000_000).toString('hex'));
      const artifacts = { model: await upload('model'), workspace: await upload('workspace') };
      await hand.complete(task, { artifacts });
      // The server notices when it has read all of it, and withholds the end.
      for (const { sha256 } of await client.call('listJobArtifacts', { params: { id } }))
        rot(join(server.stateDir, objectPath(sha256)));
      const { body } = await client.download(artifacts.model);
      await assert.rejects(buffer(body), { code: 'ECONNRESET' });
      const out = join(folder, 'out');
      const flags = ['--role', 'workspace', '--out', out, '--server', server.url, '--ca', authority.ca];
      const { code, stderr } = await run(['artifacts', id, ...flags]);
      // It asks again for what did not come, and hears why.
      assert.equal(code, 2, stderr);
      assert.match(stderr, /failed .*workspace\.bin .* were damaged on the disk of the server/);
      assert.deepEqual(await filesIn(out), []);
    });

    it('is refused at the start, with a message, where the certificate has expired', async (t) => {
      const authority = await Authority.make(t);
      const { cert, key } = await authority.certify('old', undefined, 'expired');
      const state = ['--state', join(await temporaryDirectory(t), 's'), '--port', '0'];
      const { code, stderr } = await run([
        'server',
        '--tls-cert',
        cert,
        '--tls-key',
        key,
        '--transport',
        transport,
        ...state,
      ]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, /the certificate in .*\.pem has expired \(.* GMT\)/);
    });

    it('is refused at the start, with a message, where the files cannot be used', async (t) => {
      const authority = await Authority.make(t);
      const [one, other] = [await authority.certify('one'), await authority.certify('other')];
      const folder = await temporaryDirectory(t);
      const refused = async (cert: string, key: string): Promise<string> => {
        const flags = ['--tls-cert', cert, '--tls-key', key, '--transport', transport];
        const state = ['--state', join(folder, 's'), '--port', '0', '--log-level', 'silent'];
        const { code, stderr } = await run(['server', ...flags, ...state]);
        assert.equal(code, 2, stderr);
        return stderr;
      };
      assert.match(await refused(one.cert, other.key), /is not the key of the certificate/);
      assert.match(await refused(join(folder, 'none'), one.key), /cannot read the certificate .*ENOENT/);
      assert.match(await refused(one.key, one.key), /holds no certificate in PEM/);
      // As of a variable that is not set: never plain HTTP instead.
      assert.match(await refused('', ''), /a file has no name/);
    });
  });
}

describe('TLS by the transport that is taken where nobody names one', requires('openssl'), () => {
  it('is node:https, whether uWebSockets.js loads or not', async () => {
    assert.equal((await chooseTransport('auto', true)).transport.name, 'node');
  });

  it('answers everybody who connects while it reloads', async (t) => {
    const { tls, authority, server, ca } = await secure(t, 'auto');
    const kinds = [await authority.certify('even'), await authority.certify('odd')] as const;
    let isOver = false;
    const failures: unknown[] = [];
    let connected = 0;
    const line = async () => {
      while (!isOver) {
        const name = await shownBy(server.port, ca).catch((fault: unknown) => void failures.push(fault));
        if (name) connected++;
      }
    };
    const lines = [line(), line()];
    for (let i = 0; i < 20; i++) {
      await install(kinds[i % 2 === 0 ? 0 : 1], tls);
      await server.reload();
      const before = connected;
      await until('somebody to have connected', () => connected > before || failures.length > 0);
    }
    isOver = true;
    await Promise.all(lines);
    assert.deepEqual(failures, []);
  });
});
