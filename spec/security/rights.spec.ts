import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import WebSocket from 'ws';
import { ask, bearer } from '../gateway/support.ts';
import { ApiDocument } from '../hostile/openapi/document.ts';
import { startTestServer, type TestServer, temporaryDirectory } from '../support/server.ts';

/** The clients: one of each role, one without a token, one with a wrong one, and one at an open server. */
const COLUMNS = ['submitter', 'executor', 'viewer', 'admin', 'no token', 'wrong token', 'open'] as const;
type Column = (typeof COLUMNS)[number];

/** `yes`: granted; `no`: 403 that names the right; 401: not authenticated. */
type Outcome = 'yes' | 'no' | '401';

/**
 * The rights as they are promised (docs/semantics.md#rights): submit gates the submission of jobs and of
 * artifacts, read every GET under /v1 and the streams, cancel the cancellation, execute the worker API; inspection
 * is the admin's, and a retry is a submission. Written by hand: a new route needs a new row.
 */
const MATRIX: Record<
  string,
  [
    right: string,
    submitter: Outcome,
    executor: Outcome,
    viewer: Outcome,
    admin: Outcome,
    none: Outcome,
    wrong: Outcome,
    open: Outcome,
  ]
> = {
  'GET /': ['', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes'],
  'GET /healthz': ['', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes'],
  'GET /readyz': ['', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes'],
  'GET /metrics': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /version': ['', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes'],
  'GET /ui': ['', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes'],
  'GET /client/python': ['', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes'],
  'GET /client/python/{file}': ['', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes'],
  'GET /openapi.json': ['', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes'],
  'POST /v1/jobs': ['submit', 'yes', 'no', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/jobs/check': ['submit', 'yes', 'no', 'no', 'yes', '401', '401', 'yes'],
  'GET /v1/jobs': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/jobs/{id}': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/jobs/{id}/request': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/jobs/{id}/ranking': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/jobs/{id}/tasks': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/jobs/{id}/events': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/jobs/{id}/artifacts': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'PATCH /v1/jobs/{id}': ['cancel', 'yes', 'no', 'no', 'yes', '401', '401', 'yes'],
  'DELETE /v1/jobs/{id}': ['cancel', 'yes', 'no', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/jobs/{id}/cancel': ['cancel', 'yes', 'no', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/jobs/{id}/retry': ['submit', 'yes', 'no', 'no', 'yes', '401', '401', 'yes'],
  'GET /v1/jobs/{id}/events/stream': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/events': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/events/stream': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/servers': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/inspect': ['admin', 'no', 'no', 'no', 'yes', '401', '401', 'yes'],
  'GET /v1/stats': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/stats/history': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/demand': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/workers': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/workers/{id}': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'POST /v1/workers/{id}/drain': ['admin', 'no', 'no', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/workers/{id}/resume': ['admin', 'no', 'no', 'no', 'yes', '401', '401', 'yes'],
  'DELETE /v1/workers/{id}': ['admin', 'no', 'no', 'no', 'yes', '401', '401', 'yes'],
  'GET /v1/me': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/machines': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/machines/{name}': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'GET /v1/machines/{name}/actors/{id}': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'POST /v1/artifacts': ['submit', 'yes', 'no', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/artifacts/direct': ['submit', 'yes', 'no', 'no', 'yes', '401', '401', 'yes'],
  'GET /v1/artifacts/{id}': ['read', 'yes', 'yes', 'yes', 'yes', '401', '401', 'yes'],
  'POST /v1/workers/register': ['execute', 'no', 'yes', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/workers/{id}/heartbeat': ['execute', 'no', 'yes', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/workers/{id}/lease': ['execute', 'no', 'yes', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/tasks/{id}/cancel': ['cancel', 'yes', 'no', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/tasks/{id}/requeue': ['cancel', 'yes', 'no', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/queue/pause': ['admin', 'no', 'no', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/queue/resume': ['admin', 'no', 'no', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/tasks/reports': ['execute', 'no', 'yes', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/tasks/{id}/start': ['execute', 'no', 'yes', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/tasks/{id}/events': ['execute', 'no', 'yes', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/tasks/{id}/artifacts': ['execute', 'no', 'yes', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/tasks/{id}/artifacts/direct': ['execute', 'no', 'yes', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/tasks/{id}/complete': ['execute', 'no', 'yes', 'no', 'yes', '401', '401', 'yes'],
  'POST /v1/tasks/{id}/fail': ['execute', 'no', 'yes', 'no', 'yes', '401', '401', 'yes'],
};

/** Endpoints that are WebSockets. */
const STREAMS = ['GET /v1/jobs/{id}/events/stream', 'GET /v1/events/stream', 'GET /v1/inspect'];

const TOKENS: Partial<Record<Column, string>> = {
  submitter: 'token-of-the-submitter',
  executor: 'token-of-the-executor',
  viewer: 'token-of-the-viewer',
  admin: 'token-of-the-admin',
  'wrong token': 'token-of-nobody',
};

async function servers(t: TestContext): Promise<(column: Column) => TestServer> {
  const principals = ['submitter', 'executor', 'viewer', 'admin'].map(
    (role) => `${role}:${TOKENS[role as Column]}:${role}`,
  );
  const guarded = await startTestServer(t, { principals });
  const open = await startTestServer(t);
  return (column) => (column === 'open' ? open : guarded);
}

interface Answered {
  status: number;
  body: string;
}

/** Fails unless an answer is what the matrix says of it. */
function assertOutcome(
  answer: Answered,
  expected: Outcome,
  [right, who]: [string, string],
  what: string,
): void {
  const { status, body } = answer;
  if (expected === 'yes') {
    assert.ok(status !== 401 && status !== 403 && status < 500, `${what}: ${status} ${body}`);
    return;
  }
  const { code, detail } = JSON.parse(body);
  if (expected === '401') assert.deepEqual([status, code], [401, 'unauthenticated'], what);
  else {
    const words = `principal '${who}' lacks required right(s): ${right}`;
    assert.deepEqual([status, code, detail], [403, 'missing_rights', words], what);
  }
}

/** Tries to open a WebSocket; an answer of 101 is one that was opened. */
function upgrade(url: string, headers: Record<string, string>): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { headers });
    socket.on('open', () => {
      socket.terminate();
      resolve({ status: 101, body: '' });
    });
    socket.on('unexpected-response', (_request, response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    socket.on('error', (fault) => {
      if (!/Unexpected server response/.test(fault.message)) reject(fault);
    });
  });
}

const rows = Object.entries(MATRIX).map(([endpoint, [right, ...outcomes]]) => {
  const [method, path] = endpoint.split(' ') as [string, string];
  const filled = path.replace(/\{\w+\}/g, 'unknown');
  const reporting = /\/(start|complete|fail)$/.test(filled) ? '?worker_id=unknown' : '';
  return { endpoint, line: `${method} ${filled}${reporting}`, path: filled, right, outcomes };
});

describe('the rights', () => {
  it('have a row for every endpoint of the OpenAPI document, and for nothing else', async (t) => {
    const server = await startTestServer(t);
    const { operations } = await ApiDocument.of(server.url);
    assert.deepEqual(
      operations.map(({ method, path }) => `${method} ${path}`).sort(),
      Object.keys(MATRIX).sort(),
    );
    const streams = operations.filter(({ responses }) => '101' in responses);
    assert.deepEqual(streams.map(({ method, path }) => `${method} ${path}`).sort(), [...STREAMS].sort());
  });

  it('of every role, and of those without one, are as the table says, over REST', async (t) => {
    const serverOf = await servers(t);
    for (const { endpoint, line, right, outcomes } of rows) {
      for (const [i, column] of COLUMNS.entries()) {
        const token = TOKENS[column];
        const answer = await ask(serverOf(column).port, { line, headers: token ? bearer(token) : {} });
        assertOutcome(answer, outcomes[i] as Outcome, [right, column], `${endpoint} as ${column}`);
      }
    }
  });

  it('are the same over WebSocket, with the token in a header or in the query', async (t) => {
    const serverOf = await servers(t);
    for (const { endpoint, path, right, outcomes } of rows.filter((row) => STREAMS.includes(row.endpoint))) {
      for (const [i, column] of COLUMNS.entries()) {
        const token = TOKENS[column];
        const url = `${serverOf(column).url.replace('http', 'ws')}${path}`;
        const ways: [string, Record<string, string>][] = token
          ? [
              [url, bearer(token)],
              [`${url}?token=${token}`, {}],
            ]
          : [[url, {}]];
        for (const [target, headers] of ways) {
          const answer = await upgrade(target, headers);
          const expected = outcomes[i] as Outcome;
          assertOutcome(answer, expected, [right, column], `${endpoint} as ${column}`);
          // The job does not exist, which only somebody who may read learns.
          const found = endpoint.includes('{id}') ? 404 : 101;
          if (expected === 'yes') assert.equal(answer.status, found, `${endpoint} as ${column}`);
        }
      }
    }
  });

  it('do not grow by what a request claims', async (t) => {
    const serverOf = await servers(t);
    const headers = {
      ...bearer(TOKENS.viewer as string),
      'X-CLUSTER-Role': 'server',
      'X-HTTP-Method-Override': 'GET',
      'X-Forwarded-User': 'admin',
      Cookie: `token=${TOKENS.admin}`,
    };
    const port = serverOf('viewer').port;
    for (const line of [
      'POST /v1/jobs',
      `POST /v1/jobs?token=${TOKENS.admin}`,
      'post /v1/jobs',
      'POST /v1/%6aobs',
    ]) {
      assert.equal((await ask(port, { line, headers })).status, 403, line);
    }
    for (const line of [`GET /v1/me?token=${TOKENS.admin}`, 'GET /v1/me', 'HEAD /v1/me', 'get /v1/me']) {
      const answer = await ask(port, { line, headers: { Cookie: headers.Cookie } });
      assert.equal(answer.status, 401, line);
    }
  });

  it('give results of others only to principals that may read them', async (t) => {
    const authFile = join(await temporaryDirectory(t), 'auth.json');
    const entry = { name: 'post', rights: ['submit'], token: 'a-token-of-post' };
    await writeFile(authFile, JSON.stringify([entry]), { mode: 0o600 });
    const server = await startTestServer(t, { authFile });
    const asking = (reuse: unknown) =>
      ask(server.port, {
        line: 'POST /v1/jobs',
        headers: { ...bearer(entry.token), 'Content-Type': 'application/json' },
        body: JSON.stringify({
          ...{ type: 'demo.run', reuse },
          pipeline: { kind: 'inline_json', inline: [] },
          dataset: { kind: 'catalog', catalog_id: 'x', sha256: 'a'.repeat(64) },
        }),
      });
    assert.equal((await asking(true)).status, 200);
    assertOutcome(await asking('any'), 'no', ['read', 'post'], 'reuse: any');
    for (const model of [
      { kind: 'best_model', job_id: 'job_of_ann' },
      { kind: 'artifact', artifact_id: 'art_of_ann' },
    ]) {
      const dataset = { kind: 'shared_path', path: '/d' };
      const answer = await ask(server.port, {
        line: 'POST /v1/jobs',
        headers: { ...bearer(entry.token), 'Content-Type': 'application/json' },
        body: JSON.stringify({ type: 'mljs.predict', model, dataset }),
      });
      assertOutcome(answer, 'no', ['read', 'post'], `model: ${model.kind}`);
    }
  });

  it('hide whether an id exists from a principal without them', async (t) => {
    const serverOf = await servers(t);
    const server = serverOf('admin');
    const body = JSON.stringify({
      type: 'demo.run',
      pipeline: { kind: 'path', path: 'x' },
      dataset: { kind: 'catalog', catalog_id: 'x' },
    });
    const { id } = await server.clientWith(TOKENS.admin).call('submitJob', { text: body });
    for (const column of ['viewer', 'wrong token', 'no token'] as const) {
      const token = TOKENS[column];
      const answers = [];
      for (const job of [id, 'job_of_nobody']) {
        const line = `POST /v1/jobs/${job}/cancel`;
        const { status, body } = await ask(server.port, { line, headers: token ? bearer(token) : {} });
        answers.push([status, body]);
      }
      assert.deepEqual(answers[0], answers[1], column);
    }
  });
});
