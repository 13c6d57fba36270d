import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as delay, setImmediate as soon } from 'node:timers/promises';
import { ClusterClient } from '../../gateway/client/client.ts';
import { UnreachableError } from '../../gateway/client/errors.ts';
import { HttpGetter } from '../../gateway/client/http-get.ts';
import { closingServer } from '../support/closing-server.ts';

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** Reads at the pace of a slow disk. */
async function slowly(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) {
    chunks.push(chunk);
    await soon();
    await soon();
  }
  return Buffer.concat(chunks);
}

describe('a server, or a proxy before it, that closes the connection behind each answer', () => {
  for (const size of [86_000, 2_000_000]) {
    it(`gives a download of ${size} bytes whole, however slowly it is read`, async () => {
      const bytes = randomBytes(size);
      const server = await closingServer({ '/v1/artifacts/art_1': bytes });
      const client = new ClusterClient({ server: server.url });
      for (let n = 0; n < 5; n++) {
        const { body } = await client.download('art_1');
        await delay(5);
        assert.equal(sha256(await slowly(body)), sha256(bytes));
      }
      await client.close();
      server.stop();
    });
  }

  it('gives a long JSON answer whole', async () => {
    const jobs = [{ id: 'x'.repeat(3_000_000) }];
    const server = await closingServer({ '/v1/jobs': Buffer.from(JSON.stringify(jobs)) });
    const client = new ClusterClient({ server: server.url });
    for (let n = 0; n < 5; n++) assert.equal((await client.callText('listJobs')).length, 3_000_011);
    await client.close();
    server.stop();
  });
});

describe('a download', () => {
  it('that breaks off is reported as incomplete', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1000\r\n\r\nonly this`);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = new ClusterClient({
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    });
    const { body } = await client.download('art_1');
    await assert.rejects(slowly(body as AsyncIterable<Buffer>));
    await client.close();
    server.close();
  });

  it('from a server that sends nothing is given up, with an error of the client', async () => {
    const server = createServer((socket) => socket.on('error', () => {}).resume());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = new ClusterClient({ server: `http://127.0.0.1:${port}`, timeoutMs: 50 });
    await assert.rejects(client.download('art_1'), UnreachableError);
    await client.close();
    server.close();
  });

  it('is not given up while its reader pauses, and never looks complete after an abort', async () => {
    const bytes = randomBytes(500_000);
    const server = await closingServer({ '/x': bytes });
    const getter = new HttpGetter();
    const url = new URL('/x', server.url);
    const rested = await getter.get(url, { silenceMs: 50 });
    await delay(300);
    assert.equal(sha256(await slowly(rested)), sha256(bytes));

    const stop = new AbortController();
    const stopped = await getter.get(url, { silenceMs: 5_000, signal: stop.signal });
    const reading = slowly(stopped);
    stop.abort();
    await assert.rejects(reading, { name: 'AbortError' });
    getter.close();
    server.stop();
  });
});
