import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type Route, takesBody } from '../../gateway/contract/route.ts';
import { type RouteName, routeList } from '../../gateway/contract/routes.ts';
import { openApi } from '../../gateway/openapi/openapi.ts';
import { RIGHTS } from '../../machines/protocol/rights.ts';
import { validator } from '../../machines/schema/validate.ts';
import { JOB } from '../support/job.ts';
import { startTestServer, type TestServer, temporaryDirectory } from '../support/server.ts';
import { type Ask, ask, bearer, multipart, type RawAnswer } from './support.ts';

/** The statuses and bodies that each route answered in these tests, by its name. */
const seen = new Map<RouteName, Set<number>>();

const FILE = multipart([{ disposition: 'name="file"; filename="model.bin"', content: 'model' }]);

/** What nobody has. */
const BYTES = { sha256: 'a'.repeat(64), size_bytes: 1 };

/** A request that a route accepts, but for its id. */
function validAsk(route: Route, params: Record<string, string>): Ask {
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? 'x'));
  const needsWorker = (route.query as { required?: string[] } | undefined)?.required?.includes('worker_id');
  const target = needsWorker ? `${path}?worker_id=${params.worker ?? 'worker_0'}` : path;
  const line = `${route.method.toUpperCase()} ${target}`;
  if (route.kind === 'upload') return { line, headers: { 'Content-Type': FILE.type }, body: FILE.body };
  if (!takesBody(route.method)) return { line };
  const bodies: Record<string, unknown> = {
    '/v1/jobs': JOB,
    '/v1/jobs/check': JOB,
    '/v1/artifacts/direct': BYTES,
    '/v1/tasks/{id}/artifacts/direct': BYTES,
    '/v1/tasks/{id}/events': { type: 'progress', progress: 0.5 },
    '/v1/tasks/{id}/complete': { status: 'succeeded' },
    '/v1/tasks/{id}/fail': { error: 'it broke' },
    '/v1/tasks/reports': { reports: [{ type: 'start', task_id: 'task_0', worker_id: 'worker_0' }] },
  };
  return { line, body: JSON.stringify(bodies[route.path] ?? {}) };
}

async function call(server: TestServer, name: RouteName, request: Ask, token = 'all'): Promise<RawAnswer> {
  const answer = await ask(server.port, { ...request, headers: { ...request.headers, ...bearer(token) } });
  seen.set(name, (seen.get(name) ?? new Set()).add(answer.status));
  return answer;
}

/** A real server with one principal that has every right, and for each right one that has all others. */
async function guardedServer(t: TestContext): Promise<TestServer> {
  const entries = RIGHTS.map((lacking) => ({
    name: `no-${lacking}`,
    // Admin would bring all others with it.
    rights: RIGHTS.filter((right) => right !== lacking && right !== 'admin'),
    token: `no-${lacking}`,
  }));
  const authFile = join(await temporaryDirectory(t), 'auth.json');
  await writeFile(authFile, JSON.stringify([{ name: 'all', rights: ['admin'], token: 'all' }, ...entries]));
  return startTestServer(t, { authFile });
}

const guarded = routeList.filter(([, { right }]) => right !== null);
const withId = routeList.filter(([, { path }]) => path.includes('{'));
const withBody = routeList.filter(([, { kind, method: verb }]) => kind === 'json' && takesBody(verb));

describe('every guarded route', () => {
  it('requires a credential', async (t) => {
    const server = await guardedServer(t);
    for (const [name, route] of guarded) {
      const { status, body } = await call(server, name, validAsk(route, {}), 'unknown');
      assert.deepEqual([status, JSON.parse(body).code], [401, 'unauthenticated'], name);
    }
  });

  it('requires its right, which the refusal names in fixed words', async (t) => {
    const server = await guardedServer(t);
    for (const [name, route] of guarded) {
      const { status, body } = await call(server, name, validAsk(route, {}), `no-${route.right}`);
      assert.equal(status, 403, name);
      assert.deepEqual(JSON.parse(body), {
        detail: `principal 'no-${route.right}' lacks required right(s): ${route.right}`,
        code: 'missing_rights',
      });
    }
  });
});

describe('every route with an id', () => {
  it('answers 404 to one that is unknown', async (t) => {
    const server = await guardedServer(t);
    for (const [name, route] of withId) {
      if (route.kind === 'stream') continue;
      const { status, body } = await call(
        server,
        name,
        validAsk(route, { id: 'nothing_of_this_name', name: 'nothing_of_this_name' }),
      );
      assert.deepEqual([status, JSON.parse(body).code], [404, 'unknown_id'], name);
    }
  });
});

describe('every route with a body', () => {
  it('answers 400 to one that is not JSON, and 422 to one that is no object', async (t) => {
    const server = await guardedServer(t);
    for (const [name, route] of withBody) {
      const { line } = validAsk(route, { id: 'x' });
      const malformed = await call(server, name, { line, body: '{"a":' });
      assert.deepEqual([malformed.status, JSON.parse(malformed.body).code], [400, 'malformed_body'], name);
      const invalid = await call(server, name, { line, body: '[1]' });
      assert.deepEqual([invalid.status, JSON.parse(invalid.body).code], [422, 'invalid_body'], name);
    }
  });
});

/** Takes jobs through their lives, so that each route has something to answer with. */
async function liveThrough(server: TestServer) {
  const replies = new Map<RouteName, RawAnswer>();
  const asks = new Map<RouteName, Ask>();
  const run = async (name: RouteName, params: Record<string, string> = {}) => {
    const route = routeList.find(([other]) => other === name)?.[1] as Route;
    const request = validAsk(route, params);
    const answer = await call(server, name, request);
    asks.set(name, request);
    replies.set(name, answer);
    return answer.headers.get('content-type') === 'application/json' ? JSON.parse(answer.body) : undefined;
  };
  const register = { line: 'POST /v1/workers/register', body: '{"version":{"packages":{"demo":"1.0"}}}' };
  const { worker_id: worker } = JSON.parse((await call(server, 'registerWorker', register)).body);
  const { worker_id: gone } = await run('registerWorker');
  const { id: job } = await run('submitJob');
  const { task } = await run('lease', { id: worker });
  const reports = ['startTask', 'reportEvents', 'uploadTaskArtifact', 'uploadTaskArtifactDirectly'] as const;
  for (const name of [...reports, 'completeTask'] as const) await run(name, { id: task.task_id, worker });
  await run('heartbeat', { id: worker });
  await run('drainWorker', { id: worker });
  await run('getWorker', { id: worker });
  await run('resumeWorker', { id: worker });
  await call(server, 'heartbeat', {
    line: `POST /v1/workers/${gone}/heartbeat`,
    body: '{"leaving":"stopped"}',
  });
  await run('removeWorker', { id: gone });
  await run('pauseQueue');
  await run('resumeQueue');
  const { artifact_id } = await run('uploadArtifact');
  await run('downloadArtifact', { id: artifact_id });
  const { id: ended } = await run('submitJob');
  await run('requeueTask', { id: (await run('lease', { id: worker })).task.task_id });
  const again = (await run('lease', { id: worker })).task;
  await run('failTask', { id: again.task_id, worker });
  await run('cancelTask', { id: again.task_id });
  await run('deleteJob', { id: ended });
  for (const [name, route] of routeList) {
    if (!replies.has(name) && route.kind !== 'stream') await run(name, { id: job, name: 'job' });
  }
  return { replies, asks };
}

it('every route', async (t) => {
  const server = await guardedServer(t);
  const { replies, asks } = await liveThrough(server);

  await t.test('answers with what its schema says', () => {
    for (const [name, route] of routeList) {
      const answer = replies.get(name);
      if (!answer || !('reply' in route)) continue;
      // Only a failed job can be retried, and this one succeeded.
      if (name === 'retryJob') {
        assert.deepEqual([answer.status, JSON.parse(answer.body).code], [409, 'illegal_transition']);
        continue;
      }
      assert.equal(answer.status, 200, `${name}: ${answer.body}`);
      const checked = validator(route.reply)(JSON.parse(answer.body));
      assert.deepEqual(checked.ok ? [] : checked.faults, [], name);
    }
    assert.equal(replies.size, routeList.filter(([, { kind }]) => kind !== 'stream').length);
  });

  await t.test('that accepts GET accepts HEAD too', async () => {
    for (const [name, route] of routeList) {
      const request = asks.get(name);
      if (route.method !== 'get' || !request) continue;
      const get = replies.get(name) as RawAnswer;
      const head = await call(server, name, { ...request, line: request.line.replace('GET', 'HEAD') });
      assert.equal(head.status, get.status, name);
      assert.equal(head.headers.get('content-type'), get.headers.get('content-type'), name);
      assert.ok(Number(head.headers.get('content-length')) > 0, name);
    }
  });

  await t.test('documents each status that it answered here', () => {
    const facts = { service: 's', version: 'v', allowPythonJobs: false };
    const { paths } = openApi(routeList, facts) as { paths: Record<string, Record<string, Operation>> };
    for (const [name, route] of routeList) {
      for (const status of seen.get(name) ?? []) {
        assert.ok(paths[route.path]?.[route.method]?.responses[status], `${name} ${status}`);
      }
    }
    const statuses = new Set([...seen.values()].flatMap((set) => [...set]));
    for (const status of [200, 400, 401, 403, 404, 409, 422]) assert.ok(statuses.has(status), String(status));
  });
});

interface Operation {
  responses: Record<string, unknown>;
}
