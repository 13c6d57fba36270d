import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import fc from 'fast-check';
import type { Target } from './target.ts';

/** Milliseconds that a connection is kept when nothing comes of it. */
const ENOUGH = 150;

const head = (line: string, headers: string[]) => Buffer.from(`${line}\r\n${headers.join('\r\n')}\r\n\r\n`);
const UPGRADE = head('GET /v1/events/stream HTTP/1.1', [
  'Host: 127.0.0.1',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
]);
const POST = head('POST /v1/jobs HTTP/1.1', ['Host: 127.0.0.1', 'Content-Length: 100', 'X-Long: aaaaaaaa']);
const CHUNKED = Buffer.concat([
  head('POST /v1/jobs HTTP/1.1', ['Host: 127.0.0.1', 'Transfer-Encoding: chunked']),
  Buffer.from('3\r\n{"a\r\n3\r\n":1\r\n1\r\n}\r\n0\r\n\r\n'),
]);
const WHOLES = [UPGRADE, POST, CHUNKED, head('GET /v1/me HTTP/1.1', ['Host: 127.0.0.1'])];

const bytes = fc.uint8Array({ maxLength: 200 }).map((random) => Buffer.from(random));

/** A request with some of its bytes changed, or noise behind or instead of it. */
const damaged: fc.Arbitrary<Buffer> = fc.oneof(
  bytes,
  fc.tuple(fc.constantFrom(...WHOLES), bytes).map(([whole, noise]) => Buffer.concat([whole, noise])),
  fc
    .tuple(fc.constantFrom(...WHOLES), fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 5 }))
    .map(([whole, changes]) => {
      const copy = Buffer.from(whole);
      for (const [at, byte] of changes) copy[at % copy.length] = byte;
      return copy;
    }),
  fc.tuple(fc.constantFrom(...WHOLES), fc.nat(400)).map(([whole, end]) => whole.subarray(0, end)),
  // A WebSocket, and frames of every kind on it: reserved bits, huge lengths, unmasked, text that is not UTF-8.
  fc.array(frames(), { minLength: 1, maxLength: 4 }).map((list) => Buffer.concat([UPGRADE, ...list])),
);

/** A frame whose length may be a lie. */
export function frames(): fc.Arbitrary<Buffer> {
  return fc
    .record({
      first: fc.nat(255),
      masked: fc.boolean(),
      declared: fc.constantFrom(0, 1, 5, 125, 126, 127),
      long: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      payload: bytes,
    })
    .map(({ first, masked, declared, long, payload }) => {
      const length = Buffer.alloc(declared === 127 ? 8 : declared === 126 ? 2 : 0);
      if (declared === 127) length.writeBigUInt64BE(long);
      if (declared === 126) length.writeUInt16BE(Number(long & 0xffffn));
      const mask = Buffer.from(masked ? [1, 2, 3, 4] : []);
      return Buffer.concat([Buffer.from([first, (masked ? 128 : 0) | declared]), length, mask, payload]);
    });
}

/** Writes bytes to the server and listens for a moment; what comes back does not matter. */
function shout(port: number, noise: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = setTimeout(() => socket.destroy(), ENOUGH);
    socket.on('error', () => {});
    socket.on('data', () => {});
    socket.on('close', () => {
      clearTimeout(end);
      resolve();
    });
    socket.write(noise);
  });
}

/**
 * Sends noise on many connections, several at a time, and asks after it whether the server is well and still tells
 * its jobs apart. Returns how many connections there were.
 */
export async function noise(target: Target, { seed, runs }: { seed: number; runs: number }): Promise<number> {
  const all = fc.sample(damaged, { seed, numRuns: runs * 10 });
  for (let from = 0; from < all.length; from += 50) {
    await Promise.all(all.slice(from, from + 50).map((each) => shout(target.port, each)));
  }
  const name = randomUUID();
  const body = {
    type: 'demo.run',
    name,
    pipeline: { kind: 'path', path: 'x' },
    dataset: { kind: 'catalog', catalog_id: 'x' },
  };
  const { id } = await target.client.call('submitJob', { text: JSON.stringify(body) });
  const view = await target.client.call('getJob', { params: { id } });
  if (view.name !== name) throw new Error(`a job has another name after noise of seed ${seed}`);
  await target.assertUnharmed(`noise of seed ${seed}`);
  return all.length;
}
