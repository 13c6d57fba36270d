import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { socketFrames } from '../../gateway/client/socket-frames.ts';
import { clientOf } from '../support/client.ts';

/** Milliseconds, in place of those of the client. */
const HEARTBEAT_MISSED = 300;

/** A server of streams that sends one frame, then pings as often as it is told to, and may answer pings. */
async function serve(t: TestContext, pings: number, autoPong = false): Promise<ClusterClient> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', autoPong });
  t.after(() => server.close());
  server.on('connection', (socket) => {
    socket.send('one');
    let left = pings;
    const pinging = setInterval(() => {
      if (left-- > 0) socket.ping();
      else clearInterval(pinging);
    }, HEARTBEAT_MISSED / 4);
    socket.on('close', () => clearInterval(pinging));
  });
  await once(server, 'listening');
  return clientOf(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

describe('a stream whose server has vanished without closing it', () => {
  it('ends as unreachable, so that the client connects again', async (t) => {
    const frames = socketFrames(await serve(t, 0), '/v1/events/stream', {}, undefined, HEARTBEAT_MISSED);
    assert.equal((await frames.next()).value, 'one');
    await assert.rejects(frames.next(), { name: 'UnreachableError', message: /no sign of life/ });
  });

  it('is distinguished from one that has nothing to send but pings', async (t) => {
    const since = performance.now();
    const frames = socketFrames(await serve(t, 12), '/v1/events/stream', {}, undefined, HEARTBEAT_MISSED);
    assert.equal((await frames.next()).value, 'one');
    await assert.rejects(frames.next(), { message: /no sign of life/ });
    // Twelve pings, a quarter of the silence apart, came before it.
    assert.ok(performance.now() - since > 3 * HEARTBEAT_MISSED, 'pings are signs of life');
  });

  it('is distinguished from one that has nothing to send, and answers that it is there', async (t) => {
    const client = await serve(t, 0, true);
    const stop = new AbortController();
    const frames = socketFrames(client, '/v1/events/stream', {}, stop.signal, HEARTBEAT_MISSED);
    assert.equal((await frames.next()).value, 'one');
    const rest = frames.next();
    const first = await Promise.race([rest, delay(4 * HEARTBEAT_MISSED, 'nothing')]);
    assert.equal(first, 'nothing');
    stop.abort();
    assert.equal((await rest).done, true);
  });
});
