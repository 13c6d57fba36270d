import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { piecesOf } from '../support/views.ts';
import { type Ask, ask, bearer, gatewayFor, RawConnection } from './support.ts';

const LIMIT = 1000;
const BIG = 'x'.repeat(LIMIT + 1);
const principals = ['viewer:v-token:viewer', 'alice:s-token:submitter', 'ron:x-token:executor'];

describe('the order of the checks', () => {
  const wrongApi = { 'X-CLUSTER-Api': '2' };
  const foreign = { Origin: 'http://evil.example' };
  // Each request has every fault from its own step on; the first step must be the one that is told.
  const ladder: [string, Ask, number, string][] = [
    [
      '413 before the protocol',
      { line: 'PUT /nowhere', body: BIG, headers: { ...wrongApi, ...foreign } },
      413,
      'body_too_large',
    ],
    [
      '413 by counted bytes before the protocol',
      { line: 'PUT /nowhere', body: BIG, chunked: true, headers: { ...wrongApi, ...foreign } },
      413,
      'body_too_large',
    ],
    [
      'the protocol before the path',
      { line: 'PUT /nowhere', headers: { ...wrongApi, ...foreign } },
      426,
      'incompatible_api',
    ],
    ['the path before the origin', { line: 'PUT /nowhere', headers: foreign }, 404, 'unknown_path'],
    ['the method before the origin', { line: 'PUT /v1/jobs', headers: foreign }, 405, 'method_not_allowed'],
    ['the origin before the credential', { line: 'POST /v1/jobs', headers: foreign }, 403, 'origin_refused'],
    ['the credential before the body', { line: 'POST /v1/jobs', body: '{' }, 401, 'unauthenticated'],
    [
      'the credential before a body that comes in chunks',
      { line: 'POST /v1/jobs', body: '{', chunked: true },
      401,
      'unauthenticated',
    ],
    [
      'the right before the body',
      { line: 'POST /v1/jobs', body: '{', headers: bearer('v-token') },
      403,
      'missing_rights',
    ],
    [
      'a malformed body before its id',
      { line: 'POST /v1/jobs/job_unknown/cancel', body: '{', headers: bearer('s-token') },
      400,
      'malformed_body',
    ],
    [
      'an invalid body before its id',
      { line: 'POST /v1/workers/worker_unknown/lease', body: '{"wait_s":"1"}', headers: bearer('x-token') },
      422,
      'invalid_body',
    ],
    [
      'a malformed query before its id',
      { line: 'POST /v1/tasks/task_unknown/start', headers: bearer('x-token') },
      400,
      'malformed_query',
    ],
  ];

  for (const [title, request, status, code] of ladder) {
    it(`checks ${title}`, async () => {
      await using gateway = await gatewayFor({ principals, maxRequestBytes: LIMIT });
      const answer = await ask(gateway.port, request);
      assert.equal(answer.status, status);
      assert.equal(JSON.parse(answer.body).code, code);
      assert.equal(gateway.cluster.sent.length, 0, 'nothing reached the cluster');
    });
  }
});

describe('every answer', () => {
  const asks: Ask[] = [
    { line: 'GET /v1/workers', headers: bearer('v-token') },
    { line: 'HEAD /v1/workers', headers: bearer('v-token') },
    { line: 'OPTIONS /v1/workers' },
    { line: 'GET /v1/workers' },
    { line: 'GET /v1/artifacts/art_unknown', headers: bearer('v-token') },
    { line: 'POST /v1/artifacts', headers: bearer('s-token') },
    { line: 'GET /v1/%ff' },
    { line: 'GET /v1/events/stream', headers: bearer('v-token') },
    { line: 'POST /v1/jobs', body: BIG },
    { line: 'GET /v1/workers', headers: { 'X-CLUSTER-Api': '7' } },
  ];

  for (const { line, ...rest } of asks) {
    it(`carries the version headers, under every prefix: ${line}`, async () => {
      await using gateway = await gatewayFor({
        principals,
        maxRequestBytes: LIMIT,
        headerPrefixes: ['Brand'],
      });
      const { headers } = await ask(gateway.port, { line, ...rest });
      for (const prefix of ['x-cluster', 'x-brand']) {
        assert.equal(headers.get(`${prefix}-version`), '9.9.9');
        assert.equal(headers.get(`${prefix}-api`), '1');
        assert.equal(headers.get(`${prefix}-role`), 'server');
      }
    });
  }
});

describe('methods', () => {
  it('that a path accepts are listed in Allow where it refuses another', async () => {
    await using gateway = await gatewayFor();
    const get = await ask(gateway.port, { line: 'DELETE /v1/stats' });
    const both = await ask(gateway.port, { line: 'PATCH /v1/jobs' });
    assert.deepEqual([get.status, get.headers.get('allow')], [405, 'GET, HEAD, OPTIONS']);
    assert.deepEqual([both.status, both.headers.get('allow')], [405, 'GET, HEAD, POST, OPTIONS']);
  });

  it('include HEAD, answered like GET without the body, on a connection that stays usable', async () => {
    await using gateway = await gatewayFor();
    const connection = await RawConnection.open(gateway.port);
    connection.head('HEAD /healthz');
    const head = await connection.answer(true);
    connection.head('GET /healthz');
    const get = await connection.answer();
    connection.close();
    assert.equal(head.status, 200);
    assert.equal(head.headers.get('content-length'), String(get.body.length));
    assert.equal(get.body, '{"ok":true}');
  });

  it('include OPTIONS, answered with the methods of the path', async () => {
    await using gateway = await gatewayFor({ principals });
    const { status, headers } = await ask(gateway.port, { line: 'OPTIONS /v1/jobs' });
    assert.deepEqual([status, headers.get('allow')], [204, 'GET, HEAD, POST, OPTIONS']);
  });

  it('do not open a WebSocket stream by a plain request, whose refusal says that it is one', async () => {
    await using gateway = await gatewayFor();
    const { status, headers, body } = await ask(gateway.port, { line: 'GET /v1/events/stream' });
    assert.deepEqual([status, headers.get('upgrade')], [426, 'websocket']);
    assert.equal(JSON.parse(body).code, 'upgrade_required');
  });
});

describe('paths', () => {
  for (const path of '/v1/jobs/% /v1/jobs/%zz /v1/jobs/%ff%fe/tasks /v1/jobs//tasks /v1//jobs /x'.split(
    ' ',
  )) {
    it(`that are unknown get 404: ${path}`, async () => {
      await using gateway = await gatewayFor();
      const { status, body } = await ask(gateway.port, { line: `GET ${path}` });
      assert.deepEqual([status, JSON.parse(body).code], [404, 'unknown_path']);
    });
  }

  it('may hold encoded ids', async () => {
    await using gateway = await gatewayFor();
    gateway.cluster.reads.job = (id) => piecesOf({ id });
    const { body } = await ask(gateway.port, { line: 'GET /v1/jobs/a%2Fb%20%C3%A9%25' });
    assert.equal(JSON.parse(body).id, 'a/b é%');
  });
});
