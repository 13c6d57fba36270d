import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import WebSocket from 'ws';
import { Credentials } from '../../gateway/auth/credentials.ts';
import { type Ask, ask, bearer, gatewayFor, RawConnection } from '../gateway/support.ts';
import { deferred } from '../support/deferred.ts';
import { JOB } from '../support/job.ts';
import { startTestServer, type TestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

interface Entry {
  name: string;
  token: string;
  roles?: string[];
  rights?: string[];
}

const KEPT: Entry = { name: 'kept', roles: ['admin'], token: 'kept-token' };
const TEMP: Entry = { name: 'temp', roles: ['admin'], token: 'temp-token' };

/** A server whose principals stand in an auth file; `give` writes the file anew and has it read. */
async function serverOf(t: TestContext, ...entries: Entry[]) {
  const authFile = join(await temporaryDirectory(t), 'auth.json');
  await writeFile(authFile, JSON.stringify(entries));
  const server = await startTestServer(t, { authFile });
  const give = async (...others: Entry[]) => {
    await writeFile(authFile, JSON.stringify(others));
    await server.reload();
  };
  return { server, give, authFile };
}

interface Stream {
  socket: WebSocket;
  closed?: { code: number; reason: string };
}

async function open(t: TestContext, server: TestServer, path: string, token: string): Promise<Stream> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, { headers: bearer(token) });
  t.after(() => socket.terminate());
  const stream: Stream = { socket };
  socket.on('error', () => {});
  socket.on('close', (code, reason) => {
    stream.closed = { code, reason: String(reason) };
  });
  await until(`the stream ${path}`, () => socket.readyState === WebSocket.OPEN);
  return stream;
}

/** Proves that a stream still carries what happens, by making something happen. */
async function assertLive(server: TestServer, stream: Stream): Promise<void> {
  let frames = 0;
  stream.socket.on('message', () => frames++);
  await server.clientWith(KEPT.token).call('registerWorker', { body: {} });
  await until('a frame', () => frames > 0 || stream.closed !== undefined);
  assert.equal(stream.closed, undefined, 'the stream stays open');
}

describe('a token that is revoked in the auth file', () => {
  it('has every stream of its credential closed with 1008, and no other', async (t) => {
    const { server, give } = await serverOf(t, KEPT, TEMP);
    const { id } = await server.clientWith(KEPT.token).call('submitJob', { text: JSON.stringify(JOB) });
    const paths = ['/v1/events/stream', `/v1/jobs/${id}/events/stream`, '/v1/inspect'];
    const gone: Stream[] = [];
    for (const path of paths) gone.push(await open(t, server, path, TEMP.token));
    const other = await open(t, server, '/v1/events/stream', KEPT.token);
    await give(KEPT);
    for (const stream of gone) {
      await until('the end of the stream', () => stream.closed);
      assert.deepEqual(stream.closed, { code: 1008, reason: 'the credential was revoked' });
    }
    await assertLive(server, other);
  });

  it('has its waiting requests refused, without a task', async (t) => {
    const { server, give } = await serverOf(t, KEPT, TEMP);
    const temp = server.clientWith(TEMP.token);
    const version = { packages: { demo: '1.0' } };
    const { worker_id } = await temp.call('registerWorker', { body: { version } });
    const waiting = ['lease', 'heartbeat'].map(async (verb) => {
      const connection = await RawConnection.open(server.port);
      t.after(() => connection.close());
      const body = '{"wait_s":60}';
      const length = { 'Content-Length': String(body.length) };
      connection.head(`POST /v1/workers/${worker_id}/${verb}`, { ...length, ...bearer(TEMP.token) });
      connection.write(body);
      return connection;
    });
    const connections = await Promise.all(waiting);
    // An answer on a later connection shows that the server has read the earlier ones.
    await temp.call('getMe');
    await give(KEPT);
    for (const connection of connections) {
      const answer = await connection.answer();
      assert.deepEqual([answer.status, JSON.parse(answer.body).code], [401, 'unauthenticated']);
      assert.match(answer.body, /revoked/);
    }
    const kept = server.clientWith(KEPT.token);
    const { id } = await kept.call('submitJob', { text: JSON.stringify(JOB) });
    const [task] = await kept.call('listJobTasks', { params: { id } });
    assert.deepEqual([task?.status, task?.attempt], ['queued', 0], 'nobody was given the task');
  });

  it('does nothing by a body that was held back until then', async (t) => {
    const { server, give } = await serverOf(t, KEPT, TEMP);
    const temp = server.clientWith(TEMP.token);
    const kept = server.clientWith(KEPT.token);
    const { worker_id } = await temp.call('registerWorker', {
      body: { version: { packages: { demo: '1.0' } } },
    });
    const { id } = await kept.call('submitJob', { text: JSON.stringify(JOB) });
    const held = [
      ['/v1/jobs', JSON.stringify(JOB)],
      [`/v1/workers/${worker_id}/lease`, '{"max_tasks":1}'],
    ] as const;
    const connections = [];
    for (const [path, body] of held) {
      const connection = await RawConnection.open(server.port);
      t.after(() => connection.close());
      const length = { 'Content-Length': String(body.length), 'Content-Type': 'application/json' };
      connection.head(`POST ${path}`, { ...length, ...bearer(TEMP.token) });
      connections.push({ connection, body });
    }
    await temp.call('getMe');
    await give(KEPT);
    for (const { connection, body } of connections) {
      connection.write(body);
      assert.equal((await connection.answer()).status, 401);
    }
    assert.deepEqual(
      (await kept.call('listJobs')).map((one) => [one.id, one.status]),
      [[id, 'queued']],
    );
  });

  it('has its streams closed also when only the right is revoked, or the token is given to no principal', async (t) => {
    const { server, give } = await serverOf(t, KEPT, TEMP);
    const events = await open(t, server, '/v1/events/stream', TEMP.token);
    const inspection = await open(t, server, '/v1/inspect', TEMP.token);
    await give(KEPT, { name: 'temp', roles: ['viewer'], token: TEMP.token });
    await until('the end of the inspection', () => inspection.closed);
    assert.equal(inspection.closed?.code, 1008, 'a viewer may not inspect');
    await assertLive(server, events);
    await give(KEPT, { name: 'temp', rights: ['submit'], token: TEMP.token });
    await until('the end of the events', () => events.closed);
    assert.equal(events.closed?.code, 1008, 'who may only submit may not read');
  });

  it('keeps a stream when its credential is merely renamed, or listed elsewhere', async (t) => {
    const { server, give } = await serverOf(t, TEMP, KEPT);
    const stream = await open(t, server, '/v1/events/stream', TEMP.token);
    await give(KEPT, { name: 'renamed', roles: ['viewer'], token: TEMP.token });
    await assertLive(server, stream);
  });

  it('has no effect while the file has a fault', async (t) => {
    const { server, authFile } = await serverOf(t, KEPT, TEMP);
    const stream = await open(t, server, '/v1/events/stream', TEMP.token);
    await writeFile(authFile, '[{"name": ');
    await assert.rejects(server.reload(), /neither JSON nor YAML/);
    await assertLive(server, stream);
    const request: Ask = { line: 'GET /v1/me', headers: bearer(TEMP.token) };
    assert.equal((await ask(server.port, request)).status, 200);
  });

  it('cannot open a stream by a request that was admitted just before', async (t) => {
    const authFile = join(await temporaryDirectory(t), 'auth.json');
    await writeFile(authFile, JSON.stringify([KEPT, TEMP]));
    const auth = Credentials.from({ authFile });
    await using gateway = await gatewayFor({ auth });
    const { reads, events } = gateway.cluster;
    events.commit({}, {});
    const admitted = deferred();
    const reloaded = deferred();
    reads.eventIdBefore = async () => {
      admitted.resolve();
      await reloaded.promise;
      return 0;
    };
    const headers = bearer(TEMP.token);
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/v1/events/stream`, { headers });
    t.after(() => socket.terminate());
    let frames = 0;
    socket.on('message', () => frames++);
    let code: number | undefined;
    socket.on('close', (given) => {
      code = given;
    });
    await admitted.promise;
    await writeFile(authFile, JSON.stringify([KEPT]));
    auth.reload();
    reloaded.resolve();
    await until('the end of the stream', () => code !== undefined);
    assert.deepEqual([code, frames], [1008, 0]);
  });
});
