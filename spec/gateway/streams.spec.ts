import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Credentials } from '../../gateway/auth/credentials.ts';
import { ClusterClient } from '../../gateway/client/client.ts';
import { eventStream } from '../../gateway/client/event-stream.ts';
import type { EventView } from '../../machines/schema/views.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { idsUpTo } from './feed-support.ts';
import { StreamClient, UPGRADE } from './stream-client.ts';
import { ask, gatewayFor, RawConnection, recordingLog, type TestGateway } from './support.ts';

const principals = ['vic:v-token:viewer', 'sam:x-token:executor'];

const many = (count: number, draft: Partial<EventView> = {}) => Array.from({ length: count }, () => draft);

describe('the stream of a job', () => {
  it('sends all of its history, then live events, each as one frame of JSON', async () => {
    await using gateway = await gatewayFor();
    const { events } = gateway.cluster;
    events.commit(...many(700), ...many(5, { job_id: 'job_2' }));
    const listener = new StreamClient(gateway, '/v1/jobs/job_1/events/stream');
    await listener.has(700);
    events.commit({ job_id: 'job_2' }, { message: 'é€😀', data: { progress: 0.5 } });
    await listener.has(701);
    assert.deepEqual(listener.ids, [...idsUpTo(700), 707]);
    assert.deepEqual(JSON.parse(listener.frames.at(-1) ?? ''), events.all.at(-1));
  });

  it('begins after the event that after_id names', async () => {
    await using gateway = await gatewayFor();
    gateway.cluster.events.commit(...many(10));
    const listener = new StreamClient(gateway, '/v1/jobs/job_1/events/stream?after_id=8');
    await listener.has(2);
    assert.deepEqual(listener.ids, [9, 10]);
  });
});

describe('the stream of all events', () => {
  it('begins with the last 200 events', async () => {
    await using gateway = await gatewayFor();
    const { events } = gateway.cluster;
    events.commit(...many(250), ...many(50, { job_id: null, worker_id: 'worker_1' }));
    const listener = new StreamClient(gateway, '/v1/events/stream');
    await listener.has(200);
    events.commit({ job_id: 'job_2' });
    await listener.has(201);
    assert.deepEqual(listener.ids, idsUpTo(301, 101));
  });

  it('has events followed as long as one is open, and again with the next one', async () => {
    await using gateway = await gatewayFor();
    const { events } = gateway.cluster;
    events.commit({});
    for (const id of [1, 2]) {
      const two = [1, 2].map(() => new StreamClient(gateway, '/v1/events/stream?after_id=0'));
      for (const [i, stream] of two.entries()) {
        await stream.has(id);
        assert.equal(events.listeners.size, 1);
        if (i === 1) events.commit({});
        if (i === 1) await stream.has(id + 1);
      }
      for (const { socket } of two) socket.close();
      await until('nobody to follow', () => events.listeners.size === 0);
    }
  });

  it('begins after the event that after_id names, however long ago that was', async () => {
    await using gateway = await gatewayFor();
    gateway.cluster.events.commit(...many(1200));
    const listener = new StreamClient(gateway, '/v1/events/stream?after_id=0');
    await listener.has(1200);
    assert.deepEqual(listener.ids, idsUpTo(1200));
  });

  it('is resumed by the typed client after the last event seen, when the server comes back', async () => {
    const before = await gatewayFor();
    const { cluster, port } = before;
    cluster.events.commit(...many(3));
    const client = new ClusterClient({ server: before.url });
    const seen: number[] = [];
    let after: TestGateway | undefined;
    for await (const { id } of eventStream({ client })) {
      seen.push(id);
      if (id === 3) {
        await before.stop();
        cluster.events.commit({}, {});
        after = await gatewayFor({ port }, cluster);
      }
      if (id === 5) cluster.events.commit({});
      if (id === 6) break;
    }
    await client.close();
    await after?.stop();
    assert.deepEqual(seen, idsUpTo(6));
  });
});

describe('a stream is refused by an HTTP answer', () => {
  const cases: [string, string, Record<string, string>, number, string][] = [
    ['without a credential', '/v1/events/stream', {}, 401, 'unauthenticated'],
    ['with an unknown token', '/v1/events/stream?token=nope', {}, 401, 'unauthenticated'],
    ['with an empty token', '/v1/events/stream?token=', {}, 401, 'unauthenticated'],
    [
      'from a foreign origin',
      '/v1/events/stream?token=v-token',
      { Origin: 'http://evil' },
      403,
      'origin_refused',
    ],
    ['for an unknown job', '/v1/jobs/job_unknown/events/stream?token=v-token', {}, 404, 'unknown_id'],
    ['at an unknown path', '/v1/streams', {}, 404, 'unknown_path'],
    ['of another protocol', '/v1/events/stream', { 'X-CLUSTER-Api': '2' }, 426, 'incompatible_api'],
    [
      'after an event that does not exist yet',
      '/v1/events/stream?token=v-token&after_id=1000000',
      {},
      404,
      'unknown_id',
    ],
    ['with a malformed query', '/v1/events/stream?token=v-token&after_id=x', {}, 400, 'malformed_query'],
  ];
  for (const [title, target, headers, status, code] of cases) {
    it(`${title}: ${status}`, async () => {
      await using gateway = await gatewayFor({ principals });
      const answer = await ask(gateway.port, { line: `GET ${target}`, headers: { ...UPGRADE, ...headers } });
      assert.deepEqual([answer.status, JSON.parse(answer.body).code], [status, code]);
      assert.equal(answer.headers.get('x-cluster-api'), '1');
    });
  }

  it('without the right to read: 403', async (t) => {
    const authFile = join(await temporaryDirectory(t), 'auth.yaml');
    await writeFile(authFile, '[{name: sub, rights: [submit], token: n-token}]');
    await using gateway = await gatewayFor({ auth: Credentials.from({ authFile }) });
    const answer = await ask(gateway.port, { line: 'GET /v1/events/stream?token=n-token', headers: UPGRADE });
    assert.equal(answer.status, 403);
    assert.equal(JSON.parse(answer.body).detail, "principal 'sub' lacks required right(s): read");
  });
});

describe('a stream is opened', () => {
  for (const [title, target, headers] of [
    ['with the token in the query', '/v1/events/stream?token=v-token', {}],
    ['with the token in the header', '/v1/events/stream', { Authorization: 'Bearer x-token' }],
    ['by a page of the own origin', '/v1/events/stream?token=v-token', { Origin: 'own' }],
  ] as const) {
    it(title, async () => {
      await using gateway = await gatewayFor({ principals });
      gateway.cluster.events.commit({});
      const sent: Record<string, string> = { ...headers };
      if (sent.Origin) sent.Origin = `http://127.0.0.1:${gateway.port}`;
      const listener = new StreamClient(gateway, target, sent);
      await listener.has(1);
    });
  }

  it('with the version headers in the answer, and no subprotocol', async () => {
    await using gateway = await gatewayFor();
    const connection = await RawConnection.open(gateway.port);
    connection.head('GET /v1/events/stream', { ...UPGRADE, 'Sec-WebSocket-Protocol': 'chat, json' });
    const { status, headers } = await connection.answer(true);
    connection.close();
    assert.equal(status, 101);
    assert.equal(headers.get('x-cluster-version'), '9.9.9');
    assert.equal(headers.get('x-cluster-role'), 'server');
    assert.equal(headers.get('sec-websocket-accept'), 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
    assert.equal(headers.has('sec-websocket-protocol'), false);
  });

  it('and its token is never logged', async () => {
    const { lines, log } = recordingLog('trace');
    await using gateway = await gatewayFor({ principals, log });
    gateway.cluster.events.commit({});
    await new StreamClient(gateway, '/v1/events/stream?token=v-token').has(1);
    await ask(gateway.port, { line: 'GET /v1/events/stream?token=secret-token', headers: UPGRADE });
    await ask(gateway.port, { line: 'GET /v1/me', headers: { Authorization: 'Bearer secret-token' } });
    await until('three lines', () => lines.length >= 3);
    assert.match(lines.join(), /"status":101/);
    assert.doesNotMatch(lines.join(), /v-token|secret-token/);
  });
});

describe('a client of a stream', () => {
  it('that does not read is closed with 1013, and can read later what it missed', async () => {
    const { lines, log } = recordingLog('info');
    await using gateway = await gatewayFor({ log });
    const { events } = gateway.cluster;
    const listener = new StreamClient(gateway, '/v1/events/stream');
    events.commit({});
    await listener.has(1);
    listener.socket.pause();
    const data = { text: 'x'.repeat(100_000) };
    // The kernel takes some megabytes on both sides, then the server's own buffer fills.
    await until('the server to give up', () => {
      if (lines.length === 0) events.commit({ data });
      return lines.length > 0;
    });
    assert.match(lines.join(), /too slow/);
    listener.socket.resume();
    await until('the close', () => listener.closed);
    assert.equal(listener.closed?.code, 1013);
    const [first, last] = [listener.ids.length, events.all.length];
    assert.ok(first < last, 'it missed something');
    assert.deepEqual(listener.ids, idsUpTo(first));

    const again = new StreamClient(gateway, `/v1/events/stream?after_id=${first}`);
    await again.has(last - first);
    assert.deepEqual(again.ids, idsUpTo(last, first + 1));
  });

  it('that reads a long history slowly makes the server read it as slowly, and gets all of it', async () => {
    await using gateway = await gatewayFor();
    const { events, reads } = gateway.cluster;
    events.commit(...many(600, { data: { text: 'x'.repeat(100_000) } }));
    const read = reads.events;
    let lastRead = 0;
    reads.events = async (query) => {
      const page = await read(query);
      lastRead = page.events.at(-1)?.id ?? lastRead;
      return page;
    };
    const listener = new StreamClient(gateway, '/v1/events/stream?after_id=0');
    listener.socket.once('open', () => listener.socket.pause());
    const others = async () => {
      for (let i = 0; i < 50; i++) await ask(gateway.port, { line: 'GET /healthz' });
    };
    await until('the reading rests', async () => {
      const before = lastRead;
      await others();
      return before > 0 && lastRead === before;
    });
    // Other requests take their turns meanwhile; no more is read for all that.
    const rested = lastRead;
    await others();
    assert.equal(lastRead, rested);
    assert.ok(rested < 600, `${rested} of 600 events were read for a client that takes none`);
    listener.socket.resume();
    await listener.has(600);
    assert.deepEqual(listener.ids, idsUpTo(600));
  });

  it('that disconnects is forgotten', async () => {
    await using gateway = await gatewayFor();
    gateway.cluster.events.commit({});
    const listener = new StreamClient(gateway, '/v1/events/stream');
    await listener.has(1);
    listener.socket.terminate();
    await until('the close', () => listener.closed);
    gateway.cluster.events.commit({});
    assert.equal((await ask(gateway.port, { line: 'GET /healthz' })).status, 200);
  });

  it('is closed with 1001 when the server stops', async () => {
    const gateway = await gatewayFor();
    gateway.cluster.events.commit({});
    const listener = new StreamClient(gateway, '/v1/events/stream');
    await listener.has(1);
    await gateway.stop();
    await until('the close', () => listener.closed);
    assert.equal(listener.closed?.code, 1001);
    assert.equal(gateway.cluster.events.listeners.size, 0);
  });
});
