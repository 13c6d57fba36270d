import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { gatewayFor, multipart, RawConnection } from '../gateway/support.ts';
import { until } from '../support/until.ts';

describe('a client that sends while the server stands still', () => {
  it('is heard before it is dropped for its silence', async (t) => {
    // Time runs faster: a fiftieth of the patience with those who stall.
    const { setTimeout: later } = Socket.prototype;
    t.mock.method(Socket.prototype, 'setTimeout', function (this: Socket, ms: number, then?: () => void) {
      return later.call(this, ms / 50, then);
    });
    await using gateway = await gatewayFor({ transport: 'node' });
    const create = t.mock.method(gateway.cluster.blobs, 'create');
    const { body, type } = multipart([
      { disposition: 'name="file"; filename="f"', content: 'x'.repeat(5000) },
    ]);
    const client = await RawConnection.open(gateway.port);
    t.after(() => client.close());
    client.head('POST /v1/artifacts', { 'Content-Type': type, 'Content-Length': `${body.length}` });
    client.write(body.subarray(0, 3000));
    await until('the upload to begin', () => create.mock.callCount() > 0);
    client.write(body.subarray(3000));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
    await until('an answer', () => client.received.includes('\r\n\r\n') || client.socket.destroyed);
    assert.match(client.received, /^HTTP\/1\.1 200 /);
  });
});
