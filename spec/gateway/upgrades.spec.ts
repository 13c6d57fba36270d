import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import WebSocket from 'ws';
import { until } from '../support/until.ts';
import { UPGRADE } from './stream-client.ts';
import { ask, gatewayFor } from './support.ts';

describe('an upgrade', () => {
  it('works for every stream, however many are opened at once', async () => {
    await using gateway = await gatewayFor();
    const { events, reads } = gateway.cluster;
    const read = reads.eventIdBefore;
    // As from a real store, the answer comes only after the request was handled.
    reads.eventIdBefore = async (count) => {
      await new Promise((resolve) => setImmediate(resolve));
      return read(count);
    };
    const closed: number[] = [];
    const streams = Array.from({ length: 300 }, () => {
      const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/v1/events/stream`);
      const stream = { socket, frames: 0 };
      socket.on('close', (code) => closed.push(code));
      socket.on('message', () => stream.frames++);
      socket.on('error', () => {});
      return stream;
    });
    await until('all of them', () =>
      streams.every(({ socket }) => socket.readyState !== WebSocket.CONNECTING),
    );
    events.commit({});
    await until('an event for each', () => closed.length > 0 || streams.every(({ frames }) => frames === 1));
    assert.deepEqual(closed, []);
    for (const { socket } of streams) socket.terminate();
  });

  for (const value of ['close', 'keep-alive', 'x-upgrade']) {
    it(`is refused to a request with 'Connection: ${value}': 426`, async () => {
      await using gateway = await gatewayFor();
      const headers = { ...UPGRADE, Connection: value };
      const answer = await ask(gateway.port, { line: 'GET /v1/events/stream', headers });
      assert.deepEqual([answer.status, JSON.parse(answer.body).code], [426, 'upgrade_required']);
      assert.equal(answer.headers.get('upgrade'), 'websocket');
    });
  }

  it('is granted to a request that names it among other options', async () => {
    await using gateway = await gatewayFor();
    gateway.cluster.events.commit({});
    const headers = { Connection: 'keep-alive, Upgrade' };
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/v1/events/stream`, { headers });
    const [frame] = await new Promise<unknown[]>((resolve) =>
      socket.once('message', (...args) => resolve(args)),
    );
    assert.equal(JSON.parse(String(frame)).id, 1);
    socket.terminate();
  });
});
