import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { until } from '../support/until.ts';
import { OpenScope } from './scope.ts';
import { Target } from './target.ts';

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';

/** A masked frame (RFC 6455, 5.2) of a first byte and a payload. */
function frame(first: number, payload: Buffer | string, masked = true): Buffer {
  const bytes = Buffer.from(payload);
  const bit = masked ? 0x80 : 0;
  const length =
    bytes.length < 126
      ? Buffer.from([bit | bytes.length])
      : Buffer.from([bit | 126, bytes.length >> 8, bytes.length & 255]);
  const mask = Buffer.from([7, 11, 13, 17]);
  const hidden = bytes.map((byte, i) => byte ^ (mask[i % 4] as number));
  return Buffer.concat([Buffer.from([first]), length, ...(masked ? [mask, hidden] : [bytes])]);
}

/** A frame that declares 2^63 bytes and sends none. */
const HUGE = Buffer.concat([Buffer.from([0x82, 0xff]), Buffer.alloc(8, 0x7f), Buffer.from([1, 2, 3, 4])]);

describe('a WebSocket client that misbehaves', () => {
  const scope = new OpenScope();
  let target: Target;
  before(async () => {
    target = await Target.start(scope);
  });
  after(() => scope.end());

  interface Wire {
    socket: Socket;
    received: Buffer;
    closed: boolean;
  }

  /** A connection on which a stream was asked for, with whatever headers. */
  function dial(path = '/v1/events/stream', over: Record<string, string | undefined> = {}): Wire {
    const headers: Record<string, string | undefined> = {
      Host: `127.0.0.1:${target.port}`,
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': KEY,
      ...over,
    };
    const lines = Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}: ${value}`],
    );
    const wire: Wire = {
      socket: connect(target.port, '127.0.0.1'),
      received: Buffer.alloc(0),
      closed: false,
    };
    scope.after(() => wire.socket.destroy());
    wire.socket.on('data', (chunk) => {
      wire.received = Buffer.concat([wire.received, chunk]);
    });
    wire.socket.on('error', () => {});
    wire.socket.on('close', () => {
      wire.closed = true;
    });
    wire.socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
    return wire;
  }

  async function open(path?: string): Promise<Wire> {
    const wire = dial(path);
    await until('the upgrade', () => wire.received.includes('\r\n\r\n'));
    assert.match(wire.received.toString('latin1'), /^HTTP\/1\.1 101 /);
    return wire;
  }

  const violations: [string, Buffer][] = [
    ['a frame of 2^63 bytes', HUGE],
    ['a frame of more than a kilobyte', frame(0x82, Buffer.alloc(2000))],
    ['reserved bits', frame(0xf1, 'x')],
    ['an operation that is reserved', frame(0x83, 'x')],
    ['text that is not UTF-8', frame(0x81, Buffer.from([0xff, 0xfe]))],
    ['a ping of more than 125 bytes', frame(0x89, Buffer.alloc(200))],
    ['a control frame in pieces', frame(0x09, 'x')],
    ['a continuation of nothing', frame(0x80, 'x')],
    ['HTTP', Buffer.from(`GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)],
  ];
  for (const [what, bytes] of violations) {
    it(`is hung up on after ${what}`, async () => {
      const wire = await open();
      wire.socket.write(bytes);
      await until('the end', () => wire.closed);
      await target.assertUnharmed(what);
    });
  }

  it('is tolerated while it only sends text, pings, empty frames and messages in pieces', async () => {
    const wire = await open();
    const said = wire.received.length;
    for (const piece of [
      frame(0x81, '{"type":"subscribe"}'),
      frame(0x82, ''),
      frame(0x01, 'a'),
      frame(0x00, 'b'),
      frame(0x80, 'c'),
      frame(0x8a, 'a pong of its own accord'),
      frame(0x89, 'ping'),
    ]) {
      wire.socket.write(piece);
    }
    await until('the pong', () => wire.received.subarray(said).includes('ping'));
    await target.client.call('registerWorker', { body: {} });
    await until('the next event', () => wire.received.includes('worker_registered'));
    assert.equal(wire.closed, false);
  });

  it('harms itself alone with frames that have no mask', async () => {
    const [wire, other] = [await open(), await open()];
    wire.socket.write(frame(0x81, 'hello', false));
    wire.socket.write(frame(0x82, Buffer.alloc(500, 0x81), false));
    await target.client.call('registerWorker', { body: { name: 'behind the frames' } });
    await until('the next event', () => other.received.includes('behind the frames'));
    await target.assertUnharmed('frames without a mask');
  });

  it('is refused by HTTP when its place in the history is not valid', async () => {
    for (const after of ['-1', 'x', '1.5', '1e3', '', '0x10', '%00', '9'.repeat(400)]) {
      const wire = dial(`/v1/events/stream?after_id=${after}`);
      await until('the answer', () => wire.received.includes('\r\n\r\n'));
      assert.match(wire.received.toString('latin1'), /^HTTP\/1\.1 400 /, after);
    }
    const ahead = dial(`/v1/events/stream?after_id=${Number.MAX_SAFE_INTEGER}`);
    await until('the answer', () => ahead.received.includes('\r\n\r\n'));
    assert.match(ahead.received.toString('latin1'), /^HTTP\/1\.1 404 .*there is no event/s);
    await target.assertUnharmed('places that are none');
  });

  it('is refused by HTTP, or never upgraded, with an upgrade that is not valid', async () => {
    const odd: [Record<string, string | undefined>, RegExp][] = [
      [{ 'Sec-WebSocket-Key': undefined }, /^HTTP\/1\.1 426 /],
      [{ Upgrade: 'h2c' }, /^HTTP\/1\.1 426 /],
      [{ Connection: 'close' }, /^HTTP\/1\.1 426 /],
      [{ 'Sec-WebSocket-Key': 'short' }, /^HTTP\/1\.1 426 /],
      [{ 'Sec-WebSocket-Version': '8' }, /^HTTP\/1\.1 426 /],
      [{ 'Sec-WebSocket-Version': undefined }, /^HTTP\/1\.1 426 /],
    ];
    for (const [headers, expected] of odd) {
      const wire = dial('/v1/events/stream', headers);
      await until('the answer', () => wire.received.includes('\r\n\r\n'));
      assert.match(wire.received.toString('latin1'), expected, JSON.stringify(headers));
    }
    for (const path of ['/v1/jobs', '/v1/me', '/ui', '/nowhere']) {
      const wire = dial(path);
      await until('the answer', () => wire.received.includes('\r\n\r\n'));
      assert.match(wire.received.toString('latin1'), /^HTTP\/1\.1 (200|404) /, path);
    }
    await target.assertUnharmed('upgrades that are none');
  });

  it('harms no other client by disconnecting at any point', async () => {
    const wires = Array.from({ length: 60 }, () => dial());
    for (const [i, wire] of wires.entries()) {
      if (i % 3 === 0) wire.socket.destroy();
      else if (i % 3 === 1) wire.socket.once('data', () => wire.socket.resetAndDestroy());
      else wire.socket.once('data', () => wire.socket.end(frame(0x88, '\x03\xe8')));
    }
    await until('the end of all', () => wires.every(({ closed }) => closed));
    await target.assertUnharmed('clients that leave');
  });
});
