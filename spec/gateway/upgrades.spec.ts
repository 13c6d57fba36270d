import uWS from 'uWebSockets.js';
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import WebSocket from 'ws';
import { listen } from '../../gateway/server/listen.ts';
import { Anchor } from '../../gateway/server/streams/anchor.ts';
import { until } from '../support/until.ts';
import { ask, gatewayFor } from './support.ts';

const UPGRADE = {
  Upgrade: 'websocket',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version': '13',
};

describe('an upgrade', () => {
  it('leaves the streams open, however many are opened at once', async () => {
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
    it(`is not made of a request with 'Connection: ${value}': 426`, async () => {
      await using gateway = await gatewayFor();
      const headers = { ...UPGRADE, Connection: value };
      const answer = await ask(gateway.port, { line: 'GET /v1/events/stream', headers });
      assert.deepEqual([answer.status, JSON.parse(answer.body).code], [426, 'upgrade_required']);
      assert.equal(answer.headers.get('upgrade'), 'websocket');
    });
  }

  it('is made of one that names it among others', async () => {
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

describe('the anchor of upgrades', () => {
  /** An app with an anchor, and the connections that came to it. */
  async function anchored(t: TestContext) {
    const app = uWS.App();
    const anchor = new Anchor();
    anchor.serve(app);
    let connections = 0;
    const count = (_: unknown, change: number) => {
      connections += change;
    };
    app.filter(count as never);
    const { port, close } = await listen(app, '127.0.0.1', 0);
    anchor.aim('127.0.0.1', port);
    t.after(() => {
      anchor.stop();
      close();
      app.close();
    });
    return { app, anchor, port, connections: () => connections };
  }

  const responseOf = async (anchor: Anchor) => {
    await anchor.ready();
    return anchor.response;
  };

  it('is one request of the server to itself, made when it is first needed', async (t) => {
    const { anchor, connections } = await anchored(t);
    assert.equal(connections(), 0);
    const [first, second] = await Promise.all([responseOf(anchor), responseOf(anchor)]);
    assert.ok(first);
    assert.equal(first, second);
    assert.equal(await responseOf(anchor), first);
    assert.equal(connections(), 1);
    let ran = false;
    first.cork(() => {
      ran = true;
    });
    assert.ok(ran);
  });

  it('is made anew when it is lost', async (t) => {
    const { app, anchor } = await anchored(t);
    const first = await responseOf(anchor);
    first?.close();
    const second = await until('another', async () => {
      const now = await responseOf(anchor);
      return now !== first && now;
    });
    assert.ok(second);
    assert.ok(app);
  });

  it('is none where the server cannot reach itself, and after the stop', async (t) => {
    const { anchor, port } = await anchored(t);
    const lost = new Anchor();
    assert.equal(await responseOf(lost), undefined);
    lost.aim('127.0.0.1', 1);
    assert.equal(await responseOf(lost), undefined);
    assert.ok(await responseOf(anchor));
    anchor.stop();
    anchor.stop();
    assert.equal(await responseOf(anchor), undefined);
    connect(port, '127.0.0.1').destroy();
  });
});
