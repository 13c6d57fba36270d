import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import { socketFrames } from '../../gateway/client/socket-frames.ts';
import { clientOf } from '../support/client.ts';
import { until } from '../support/until.ts';

/** Milliseconds that no test lasts, in place of those of the client: they pass when the test says so. */
const SILENCE = 1_000_000;

/** A stream of which one frame has come, and the other end of it. */
async function stream(t: TestContext, autoPong = false) {
  let [halfOver, noted] = [() => {}, 0];
  const { setTimeout } = globalThis;
  const wait = t.mock.method(globalThis, 'setTimeout', (...given: [call: () => void, ms: number]) => {
    const [call, ms] = given;
    const timer = setTimeout(...given);
    if (ms !== SILENCE / 2) return timer;
    halfOver = call;
    const refresh = timer.refresh.bind(timer);
    timer.refresh = () => {
      noted++;
      return refresh();
    };
    return timer;
  });
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', autoPong });
  t.after(() => server.close());
  await once(server, 'listening');
  const client = clientOf(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const connected = once(server, 'connection') as Promise<[WebSocket]>;
  const stop = new AbortController();
  const frames = socketFrames(client, '/v1/events/stream', {}, stop.signal, SILENCE);
  const first = frames.next();
  const [end] = await connected;
  end.send('one');
  assert.equal((await first).value, 'one');
  assert.ok(wait.mock.callCount() > 0);
  return {
    ...{ end, stop, rest: frames.next() },
    /** Half of the time passes in which nothing comes. */
    halfPasses: () => halfOver(),
    /** How often the client has begun anew to wait. */
    noted: () => noted,
  };
}

describe('a stream whose server has vanished without closing it', () => {
  it('ends as unreachable, so that the client connects again', async (t) => {
    const { rest, halfPasses } = await stream(t);
    halfPasses();
    halfPasses();
    await assert.rejects(rest, { name: 'UnreachableError', message: /no sign of life/ });
  });

  it('is distinguished from one that has nothing to send but pings', async (t) => {
    const { end, rest, halfPasses } = await stream(t);
    for (let pings = 0; pings < 12; pings++) {
      halfPasses();
      const heard = once(end, 'pong');
      end.ping();
      await Promise.race([heard, rest]);
    }
    halfPasses();
    halfPasses();
    await assert.rejects(rest, { message: /no sign of life/ });
  });

  it('is distinguished from one that has nothing to send, and answers that it is there', async (t) => {
    const { stop, rest, halfPasses, noted } = await stream(t, true);
    for (let rounds = 0; rounds < 6; rounds++) {
      const before = noted();
      halfPasses();
      // It waits for the answer to its question, then for the next sign of life.
      await Promise.race([until('the answer', () => noted() >= before + 2), rest]);
    }
    stop.abort();
    assert.equal((await rest).done, true);
  });
});
