import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { json, serverThat } from '../support/server-that.ts';
import { until } from '../support/until.ts';
import { leaderThat, standbyOf } from './stands-by.ts';
import { RawConnection, type TestGateway } from './support.ts';

const BODY = { 'Content-Type': 'application/json' };
const cancel = (gateway: TestGateway, init: RequestInit = {}) =>
  fetch(`${gateway.url}/v1/jobs/job_1/cancel`, { method: 'POST', body: '{}', headers: BODY, ...init });
const demand = (gateway: TestGateway, init: RequestInit = {}) => fetch(`${gateway.url}/v1/demand`, init);

const draining = json(503, { detail: 'the server is shutting down', code: 'draining' });

describe('what a server that stands by sends on', () => {
  test('comes to the one that leads as the client said it, with one mark, and is answered as that one answers', async (t) => {
    const leader = await leaderThat(t, (request, response) => {
      request.resume();
      response.writeHead(409, { 'content-type': 'application/json', 'x-further': 'kept', vary: 'Accept' });
      response.end('{"detail":"no","code":"illegal_transition"}');
    });
    const { gateway } = await standbyOf(t, leader.url);
    const headers = {
      ...BODY,
      Authorization: 'Bearer s3cret',
      'X-Request-Id': 'req-7',
      'Idempotency-Key': 'k',
    };
    const answer = await cancel(gateway, { headers });
    assert.equal(answer.status, 409);
    assert.deepEqual(await answer.json(), { detail: 'no', code: 'illegal_transition' });
    assert.deepEqual([answer.headers.get('x-further'), answer.headers.get('vary')], ['kept', 'Origin']);
    const [request] = leader.requests as [IncomingMessage];
    assert.equal(`${request.method} ${request.url}`, 'POST /v1/jobs/job_1/cancel');
    const { authorization, 'x-request-id': id, 'x-cluster-forwarded': mark } = request.headers;
    assert.deepEqual([authorization, id, mark], ['Bearer s3cret', 'req-7', '1']);
    assert.equal(request.headers['idempotency-key'], 'k');
    assert.equal(request.headers['x-forwarded-for'], '127.0.0.1');
  });

  test('is what changes something, and what is read only from the memory of the one that leads', async (t) => {
    const leader = await serverThat(t, json(200, {}));
    const { gateway } = await standbyOf(t, leader.url);
    for (const path of ['/v1/jobs', '/v1/demand', '/healthz', '/version'])
      assert.equal((await fetch(gateway.url + path)).status, 200);
    await fetch(`${gateway.url}/v1/workers/w/drain`, { method: 'POST', body: '{}', headers: BODY });
    await fetch(`${gateway.url}/v1/jobs/job_1`, { method: 'DELETE' });
    assert.deepEqual(leader.asked, ['GET /v1/demand', 'POST /v1/workers/w/drain', 'DELETE /v1/jobs/job_1']);
  });

  test('is not sent on once more: what has the mark is refused', async (t) => {
    const { gateway, leadership } = await standbyOf(t, null);
    leadership.now(gateway.url);
    const answer = await cancel(gateway);
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1']);
    assert.equal(((await answer.json()) as { code: string }).code, 'standing_by');
  });

  test('waits for somebody to lead, and is refused where nobody does', async (t) => {
    const leader = await serverThat(t, json(200, { ok: true }));
    const { gateway, leadership } = await standbyOf(t, null);
    const asked = cancel(gateway);
    leadership.now(leader.url);
    assert.equal((await asked).status, 200);
    leadership.now(null);
    const answer = await cancel(gateway);
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1']);
  });

  test('goes to the next one where the first accepted nothing, with the same body', async (t) => {
    const gone = await serverThat(t, json(200, {}));
    gone.stop();
    const bodies: string[] = [];
    const next = await leaderThat(t, (request, response) => {
      request.setEncoding('utf8').on('data', (text) => bodies.push(text));
      request.on('end', () => response.end('{}'));
    });
    const ending = await leaderThat(t, (request, response) => {
      request.resume().on('end', () => draining(request, response));
    });
    for (const first of [gone, ending]) {
      const { gateway, leadership } = await standbyOf(t, first.url);
      const before = leadership.looks;
      const asked = cancel(gateway, { body: '{"a":1}' });
      await until('it to be known that the first accepted nothing', () => leadership.looks >= before + 2);
      leadership.now(next.url);
      assert.equal((await asked).status, 200);
    }
    assert.deepEqual(bodies, ['{"a":1}', '{"a":1}']);
  });

  test('is never repeated where it may have been done: the connection is broken off', async (t) => {
    const first = await leaderThat(t, (request) => request.socket.destroy());
    const silent = await leaderThat(t, (request) => void request.resume());
    const next = await serverThat(t, json(200, {}));
    const { gateway, leadership } = await standbyOf(t, first.url);
    await assert.rejects(cancel(gateway));
    leadership.now(silent.url);
    const lost = assert.rejects(cancel(gateway));
    await until('the silent one to be asked', () => silent.requests.length > 0);
    leadership.now(next.url);
    await lost;
    assert.deepEqual([first.requests.length, silent.requests.length, next.asked], [1, 1, []]);
  });

  test('is asked of the next one where the answer to a question was lost', async (t) => {
    const first = await leaderThat(t, (request) => request.socket.destroy());
    const next = await serverThat(t, json(200, {}));
    const { gateway, leadership } = await standbyOf(t, first.url);
    const asked = demand(gateway);
    await until('the first to be asked', () => first.requests.length > 0);
    leadership.now(next.url);
    assert.equal((await asked).status, 200);
  });

  test('ends there when the client goes', async (t) => {
    const leader = await leaderThat(t, (request) => void request.resume());
    const { gateway } = await standbyOf(t, leader.url);
    const end = new AbortController();
    const asked = assert.rejects(cancel(gateway, { signal: end.signal }));
    const request = await until('the one that leads to be asked', () => leader.requests[0]);
    const closed = once(request.socket, 'close');
    end.abort();
    await Promise.all([asked, closed]);
  });

  test('streams as fast as the slower side takes it, both ways', async (t) => {
    const SIZE = 64 * 1024 * 1024;
    let hold = () => {};
    let taken = 0;
    const leader = await leaderThat(t, (request, response) => {
      hold = () => request.on('data', (chunk) => (taken += chunk.length));
      request.on('end', () => response.end(`{"bytes":${taken}}`));
    });
    const { gateway } = await standbyOf(t, leader.url);
    const raw = await RawConnection.open(gateway.port);
    t.after(() => raw.socket.destroy());
    raw.head('POST /v1/artifacts', {
      'Content-Type': 'multipart/form-data; boundary=b',
      'Content-Length': `${SIZE}`,
    });
    const piece = Buffer.alloc(1024 * 1024, 120);
    let sent = 0;
    const send = () => {
      while (sent < SIZE) {
        sent += piece.length;
        if (!raw.socket.write(piece)) return void raw.socket.once('drain', send);
      }
    };
    send();
    await until('the body to come', () => leader.requests.length > 0);
    // As long as nobody reads there, the client is made to wait: what lies between is some buffers.
    let before = -1;
    await until('the client to wait', async () => {
      const still = sent === before;
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return still;
    });
    assert.ok(sent < SIZE / 2, `${sent} bytes left the client`);
    hold();
    await until('the answer', () => raw.received.includes(`{"bytes":${SIZE}}`));
  });

  test('ends with 503 when this server stops, where it only waits for something to happen', async (t) => {
    const leader = await leaderThat(t, (request) => void request.resume());
    const { gateway } = await standbyOf(t, leader.url);
    const body = JSON.stringify({ wait_s: 30 });
    const asked = fetch(`${gateway.url}/v1/workers/w/lease`, { method: 'POST', body, headers: BODY });
    await until('the one that leads to be asked', () => leader.requests.length > 0);
    await gateway.stop();
    const answer = await asked;
    assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [503, 'draining']);
  });
});
