import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import { json } from '../support/server-that.ts';
import { until } from '../support/until.ts';
import { leaderThat, standbyOf } from './stands-by.ts';
import { RawConnection } from './support.ts';

const CANCEL = 'POST /v1/jobs/job_1/cancel';
const textOf = async (request: IncomingMessage) => {
  let text = '';
  for await (const piece of request.setEncoding('utf8')) text += piece;
  return text;
};
const draining = json(503, { detail: 'the server is shutting down', code: 'draining' });

describe('the body of a request that is sent on', () => {
  test('comes whole to the next server, though the first one refused it before all of it was there', async (t) => {
    const first = await leaderThat(t, draining);
    const bodies: string[] = [];
    const next = await leaderThat(t, async (request, response) => {
      bodies.push(await textOf(request));
      response.end('{}');
    });
    const { gateway, leadership } = await standbyOf(t, first.url);
    const raw = await RawConnection.open(gateway.port);
    t.after(() => raw.close());
    const before = leadership.looks;
    raw.head(CANCEL, { 'Content-Type': 'application/json', 'Content-Length': '9' });
    raw.write('{"a"');
    await until('the refusal of the first to be read', () => leadership.looks >= before + 2);
    leadership.now(next.url);
    await until('the next to be asked', () => next.requests.length > 0);
    raw.write(':"b"}');
    assert.equal((await raw.answer()).status, 200);
    assert.deepEqual(bodies, ['{"a":"b"}']);
  });

  test('that was refused before it was there takes no other request for its rest', async (t) => {
    const leader = await leaderThat(t, json(409, { detail: 'no', code: 'illegal_transition' }));
    const { gateway } = await standbyOf(t, leader.url);
    const raw = await RawConnection.open(gateway.port);
    t.after(() => raw.close());
    raw.head(CANCEL, { 'Content-Type': 'application/json', 'Content-Length': '10000' });
    raw.write('{"a":');
    assert.equal((await raw.answer()).status, 409);
    const other = await fetch(`${gateway.url}/v1/jobs/job_2/cancel`, {
      ...{ method: 'POST', body: '{}', signal: AbortSignal.timeout(30_000) },
    });
    assert.equal(other.status, 409);
    assert.deepEqual(
      leader.requests.map(({ url }) => url),
      ['/v1/jobs/job_1/cancel', '/v1/jobs/job_2/cancel'],
    );
  });

  test('is a body there, too, whatever the method: none of it is taken for a request', async (t) => {
    const bodies: string[] = [];
    const leader = await leaderThat(t, async (request, response) => {
      bodies.push(await textOf(request));
      response.end('{}');
    });
    const { gateway } = await standbyOf(t, leader.url);
    const within = 'POST /v1/jobs/job_2/cancel HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n';
    const raw = await RawConnection.open(gateway.port);
    t.after(() => raw.close());
    raw.head('DELETE /v1/jobs/job_1', { 'Transfer-Encoding': 'chunked' });
    raw.chunk(within);
    raw.write('0\r\n\r\n');
    assert.equal((await raw.answer()).status, 200);
    assert.deepEqual(bodies, [within]);
    assert.deepEqual(
      leader.requests.map(({ url }) => url),
      ['/v1/jobs/job_1'],
    );
  });

  for (const [how, headers, body] of [
    ['of a length', { 'Content-Length': '2' }, '{}'],
    ['in chunks', { 'Transfer-Encoding': 'chunked' }, '2\r\n{}\r\n0\r\n\r\n'],
  ] as const)
    test(`${how} is left out of a GET, which is answered as without it`, async (t) => {
      const bodies: string[] = [];
      const leader = await leaderThat(t, async (request, response) => {
        bodies.push(await textOf(request));
        response.setHeader('Content-Length', '2').end('{}');
      });
      const { gateway } = await standbyOf(t, leader.url);
      const raw = await RawConnection.open(gateway.port);
      t.after(() => raw.close());
      raw.head('GET /v1/demand', headers);
      raw.write(body);
      assert.equal((await raw.answer()).status, 200);
      assert.deepEqual(bodies, ['']);
      assert.equal(leader.requests[0]?.headers['content-length'], undefined);
    });
});
