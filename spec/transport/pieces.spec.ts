import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { chooseTransport } from '../../gateway/transport/choose.ts';
import type { Incoming, TransportName } from '../../gateway/transport/transport.ts';
import { SILENT } from '../support/silent.ts';
import { transportHere } from '../support/transport.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** The transport that `auto` takes here, and the one that exists everywhere. */
const TRANSPORTS = new Set<TransportName>([await transportHere(), 'node']);

/** Listens with one handler, and gives the port. */
async function listen(
  t: TestContext,
  name: TransportName,
  handle: (request: Incoming) => void,
): Promise<number> {
  const { transport } = await chooseTransport(name);
  const listening = await transport.listen('127.0.0.1', 0, { handle, headers: [], log: SILENT });
  t.after(() => listening.close());
  return listening.port;
}

/** Asks, reads nothing until it is told to, and gives what came back. */
function dial(t: TestContext, port: number, line = 'GET /'): Socket {
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => {});
  socket.write(`${line} HTTP/1.1\r\nHost: lab\r\n\r\n`);
  return socket;
}

const HEAD = { status: 200, headers: [['X-Test', 'yes']], last: false } as const;

/** Writes chunks until the client has gone, or all are out; tells how many the transport took. */
function sender(chunks: number, size: number) {
  const sent = { chunks: 0, done: false, gone: false };
  const hash = createHash('sha256');
  const handle = async (request: Incoming) => {
    request.onAborted(() => {
      sent.gone = true;
    });
    const body = request.begin(HEAD, null);
    while (sent.chunks < chunks && !sent.gone) {
      const chunk = Buffer.alloc(size, `${sent.chunks} `);
      await body.write(chunk);
      hash.update(chunk);
      sent.chunks++;
    }
    if (!sent.gone) await body.end();
    sent.done = true;
  };
  return { sent, handle, digest: () => hash.digest('hex') };
}

/** The body of an answer in chunks, and the rest that follows it. */
function unchunk(bytes: Buffer): { body: Buffer; rest: Buffer } {
  const pieces: Buffer[] = [];
  for (let at = bytes.indexOf('\r\n\r\n') + 4; ; ) {
    const end = bytes.indexOf('\r\n', at);
    const length = Number.parseInt(bytes.toString('latin1', at, end), 16);
    at = end + 2;
    if (length === 0) return { body: Buffer.concat(pieces), rest: bytes.subarray(at + 2) };
    pieces.push(bytes.subarray(at, at + length));
    at += length + 2;
  }
}

/** All that comes until the answers end. */
async function readAll(socket: Socket, answers = 1): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let tail = '';
  let ended = 0;
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    tail = (tail + chunk.toString('latin1')).slice(-5 - chunk.length);
    if (tail.endsWith('0\r\n\r\n')) ended++;
  });
  await until('the end of the answer', () => ended === answers);
  return Buffer.concat(chunks);
}

for (const name of TRANSPORTS)
  describe(`an answer of unknown length, by ${name}`, () => {
    const serve = (t: TestContext, handle: (request: Incoming) => void) => listen(t, name, handle);

    for (const [chunks, size] of [
      [1, 1],
      [3, 10],
      [300, 70_001],
    ] as const) {
      it(`arrives whole: ${chunks} chunks of ${size} bytes`, async (t) => {
        const { sent, handle, digest } = sender(chunks, size);
        const port = await serve(t, (request) => void handle(request));
        const bytes = await readAll(dial(t, port));
        assert.match(bytes.toString('latin1', 0, 200), /^HTTP\/1\.1 200 OK\r\nX-Test: yes\r\n/);
        assert.match(bytes.toString('latin1', 0, 200), /\r\ntransfer-encoding: chunked\r\n/i);
        const { body, rest } = unchunk(bytes);
        assert.equal(createHash('sha256').update(body).digest('hex'), digest());
        assert.equal(rest.length, 0);
        assert.equal(sent.done, true);
      });
    }

    it('may be empty, and leaves the connection for the next request', async (t) => {
      const port = await serve(t, (request) => {
        request.onAborted(() => {});
        if (request.head.path === '/empty') void request.begin(HEAD, null).end();
        else request.answer({ ...HEAD, status: 201 }, 'next', () => {});
      });
      const socket = dial(t, port, 'GET /empty');
      let received = '';
      socket.on('data', (chunk) => {
        received += chunk;
        if (!received.includes('201')) socket.write('GET /next HTTP/1.1\r\nHost: lab\r\n\r\n');
      });
      await until('the second answer', () => received.endsWith('next'));
      assert.match(received, /^HTTP\/1\.1 200 OK\r\n/);
    });

    it('waits for a client that does not read: only a few chunks are made for it', async (t) => {
      const { sent, handle } = sender(1000, MIB / 4);
      const port = await serve(t, (request) => void handle(request));
      const socket = dial(t, port);
      socket.pause();
      let before = -1;
      await until('the writing to rest', async () => {
        const rests = sent.chunks === before && sent.chunks > 0;
        before = sent.chunks;
        await new Promise((resolve) => setTimeout(resolve, 50));
        return rests;
      });
      // The kernel takes some megabytes on both sides.
      assert.ok(sent.chunks < 100, `${sent.chunks} of 1000 chunks were made for a client that takes none`);
    });

    it('costs a constant amount of memory, however slowly its client reads', async (t) => {
      const chunks = 400;
      const { sent, handle } = sender(chunks, MIB / 4);
      const port = await serve(t, (request) => void handle(request));
      const socket = dial(t, port);
      const before = process.memoryUsage.rss();
      let [received, peak, reads] = [0, 0, 0];
      // Takes some, rests until the next turn, so that the socket is writable again and again, a little each time.
      socket.on('data', (chunk: Buffer) => {
        received += chunk.length;
        // What is only not collected yet, as on a busy machine, nobody holds.
        if (reads++ % 50 === 0) {
          collect();
          peak = Math.max(peak, process.memoryUsage.rss() - before);
        }
        socket.pause();
        setImmediate(() => socket.resume());
      });
      await until('all of it', () => sent.done && received > (chunks * MIB) / 4);
      assert.ok(peak < 40 * MIB, `${Math.round(peak / MIB)} MiB more than before, for an answer of 100 MiB`);
    });

    it('ends for its writer when the client goes', async (t) => {
      const { sent, handle } = sender(1000, MIB / 4);
      const port = await serve(t, (request) => void handle(request));
      const socket = dial(t, port);
      await until('the first chunks', () => sent.chunks > 3);
      socket.destroy();
      await until('the end', () => sent.done);
      assert.equal(sent.gone, true);
    });

    it('that is broken off does not look complete', async (t) => {
      const port = await serve(t, async (request) => {
        request.onAborted(() => {});
        await request.begin(HEAD, null).write(Buffer.from('half'));
        await new Promise((resolve) => setImmediate(resolve));
        request.close();
      });
      const socket = dial(t, port);
      let received = '';
      let closed = false;
      socket.on('data', (chunk) => {
        received += chunk;
      });
      socket.on('close', () => {
        closed = true;
      });
      await until('the end', () => closed);
      assert.match(received, /half/);
      assert.doesNotMatch(received, /0\r\n\r\n$/);
    });
  });
