import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay, setImmediate as soon } from 'node:timers/promises';
import { artifactBytes } from '../../gateway/client/artifact-bytes.ts';
import { ClusterClient } from '../../gateway/client/client.ts';
import { BrokenOffError, UnreachableError } from '../../gateway/client/errors.ts';
import { HttpGetter } from '../../gateway/client/http-get.ts';
import { clientOf } from '../support/client.ts';
import { closingServer } from '../support/closing-server.ts';
import { listen, listenFor } from '../support/listen.ts';
import { sha256 } from '../support/sha256.ts';
import { until } from '../support/until.ts';

interface Breaks {
  /** Bytes of each answer that breaks off. */
  piece: number;
  knowsRanges?: boolean;
  /** How many answers do. */
  breaks?: number;
}

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
    const client = new ClusterClient({ server: (await listen(server)).url });
    const { body } = await client.download('art_1');
    await assert.rejects(slowly(body as AsyncIterable<Buffer>));
    await client.close();
    server.close();
  });

  /** A server that sends a piece of these bytes at a time, and then hangs up; the last answers as it is told. */
  async function breakingServer(
    t: TestContext,
    bytes: Buffer,
    { piece, knowsRanges = true, breaks = 99 }: Breaks,
  ) {
    const asked: (string | undefined)[] = [];
    const server = createHttpServer((request, response) => {
      const { range } = request.headers;
      asked.push(range);
      const from = knowsRanges ? Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0) : 0;
      const rest = bytes.subarray(from);
      response.writeHead(from > 0 ? 206 : 200, { 'content-length': rest.length });
      if (asked.length > breaks) response.end(rest);
      else response.write(rest.subarray(0, piece), () => response.destroy());
    });
    const client = clientOf(t, (await listenFor(t, server)).url);
    return { client, asked, server };
  }

  for (const knowsRanges of [true, false])
    it(`that breaks off is taken up behind what has come, from a server that ${knowsRanges ? 'knows' : 'does not know'} ranges`, async (t) => {
      const bytes = randomBytes(300_000);
      const { client, asked } = await breakingServer(t, bytes, { piece: 100_000, knowsRanges, breaks: 2 });
      const got: Buffer[] = [];
      for await (const chunk of artifactBytes(client, 'art_1')) got.push(chunk);
      assert.equal(sha256(Buffer.concat(got)), sha256(bytes));
      assert.deepEqual([asked.length, asked[0]], [3, undefined]);
      assert.match(asked[1] ?? '', /^bytes=\d+-$/);
    });

  it('that breaks off again and again says after how many bytes, not that no server is there', async (t) => {
    const { client, asked } = await breakingServer(t, randomBytes(300_000), { piece: 1000 });
    let got = 0;
    const reading = (async () => {
      for await (const chunk of artifactBytes(client, 'art_1')) got += chunk.length;
    })();
    await assert.rejects(reading, (error) => {
      assert.ok(error instanceof BrokenOffError);
      assert.match(
        error.message,
        new RegExp(`^the download of art_1 broke off after ${got} bytes, and could not be taken up`),
      );
      return true;
    });
    assert.equal(asked.length, 5);
    assert.ok(got > 0);
  });

  it('that never began says that the server is not reached', async (t) => {
    const { client, server } = await breakingServer(t, Buffer.alloc(10), { piece: 0 });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await assert.rejects(artifactBytes(client, 'art_1').next(), (error) => {
      assert.ok(error instanceof UnreachableError && !(error instanceof BrokenOffError));
      return true;
    });
  });

  it('from a server that sends nothing is given up, with an error of the client', async () => {
    const server = createServer((socket) => socket.on('error', () => {}).resume());
    const client = new ClusterClient({ server: (await listen(server)).url, timeoutMs: 50 });
    await assert.rejects(client.download('art_1'), UnreachableError);
    await client.close();
    server.close();
  });

  it('is not given up while its reader pauses, and never looks complete after an abort', async (t) => {
    const bytes = randomBytes(500_000);
    const server = await closingServer({ '/x': bytes });
    const getter = new HttpGetter();
    t.after(() => {
      getter.close();
      server.stop();
    });
    const url = new URL('/x', server.url);
    const rested = await getter.get(url, { silenceMs: 3_600_000 });
    await until('what waits for its reader', () => rested.readableLength > 0);
    // As when so much time has passed.
    rested.socket.emit('timeout');
    assert.equal(sha256(await slowly(rested)), sha256(bytes));

    const stop = new AbortController();
    const stopped = await getter.get(url, { silenceMs: 5_000, signal: stop.signal });
    const reading = slowly(stopped);
    stop.abort();
    await assert.rejects(reading, { name: 'AbortError' });
  });
});
