import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import WebSocket from 'ws';
import type { Inspected } from '../../gateway/backend.ts';
import { ClusterClient } from '../../gateway/client/client.ts';
import { inspectionFrames } from '../../gateway/client/inspection-stream.ts';
import { InspectionFeed } from '../../gateway/streams/inspection-feed.ts';
import { InspectionMessage } from '../../machines/schema/inspection.ts';
import { validator } from '../../machines/schema/validate.ts';
import { JOB } from '../support/job.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { StreamClient, UPGRADE } from './stream-client.ts';
import { ask, bearer, gatewayFor, recordingLog, type TestGateway } from './support.ts';

const TOKENS = { vic: 'v-secret-token', sam: 's-secret-token', ada: 'a-secret-token' };
const principals = [
  `vic:${TOKENS.vic}:viewer,submitter`,
  `sam:${TOKENS.sam}:executor`,
  `ada:${TOKENS.ada}:admin`,
];
const told = (text: string, actorId = 'job_1'): Inspected => ({ actorId, text });
const numbered = (count: number, first = 1) =>
  Array.from({ length: count }, (_, i) => told(String(first + i)));
const watched = (gateway: TestGateway) =>
  until('a watcher', () => gateway.cluster.inspection.watchers.size > 0);
/** Until a job is told to have succeeded. */
const ofJobsEnd = (watcher: StreamClient) =>
  until('the end of the job', () =>
    watcher.frames
      .map((text) => JSON.parse(text) as InspectionMessage)
      .some(
        (message) =>
          message.type === '@xstate.snapshot' &&
          message.sessionId.startsWith('job_') &&
          message.snapshot.value === 'succeeded',
      ),
  );

describe('the inspection stream', () => {
  it('of a real server carries valid messages from the registration of a worker to the end of a job', async (t) => {
    const server = await startTestServer(t, { principals });
    const watcher = new StreamClient(server, '/v1/inspect', bearer(TOKENS.ada));
    await watcher.has(1);
    const { worker_id } = await playOneJob(server.clientWith(TOKENS.vic), server.clientWith(TOKENS.sam));
    await ofJobsEnd(watcher);
    const check = validator(InspectionMessage);
    const messages = watcher.frames.map((text) => {
      const checked = check(JSON.parse(text));
      assert.deepEqual(checked.ok ? [] : checked.faults, [], text);
      return JSON.parse(text) as InspectionMessage;
    });
    const actors = messages.filter(({ type }) => type === '@xstate.actor').map(({ sessionId }) => sessionId);
    assert.deepEqual(
      actors.map((id) => id.replace(/_.*/, '')),
      ['supervisor', 'worker', 'job', 'task'],
    );
    assert.ok(actors.includes(worker_id));
  });

  it('never carries a token, whoever acts and whatever is requested', async (t) => {
    const server = await startTestServer(t, { principals });
    const watcher = new StreamClient(server, `/v1/inspect?token=${TOKENS.ada}`);
    await watcher.has(1);
    await playOneJob(server.clientWith(TOKENS.vic), server.clientWith(TOKENS.sam));
    await assert.rejects(server.clientWith('wrong-secret-token').call('getStats'));
    await ofJobsEnd(watcher);
    assert.ok(watcher.frames.length > 15);
    const leaking = watcher.frames.filter((text) => /secret-token|authorization|bearer/i.test(text));
    assert.deepEqual(leaking, []);
  });

  it('with ?actor= is of that actor alone', async () => {
    await using gateway = await gatewayFor();
    const watcher = new StreamClient(gateway, '/v1/inspect?actor=task_7');
    await watched(gateway);
    assert.deepEqual([...gateway.cluster.inspection.watchers.values()], ['task_7']);
    gateway.cluster.inspection.tell(told('"a"'));
    await watcher.has(1);
  });

  it('sends first the state when it began, then what happens, each as one frame', async () => {
    await using gateway = await gatewayFor();
    gateway.cluster.inspection.present = numbered(2);
    const watcher = new StreamClient(gateway, '/v1/inspect');
    await watcher.has(2);
    gateway.cluster.inspection.tell(...numbered(3, 3));
    await watcher.has(5);
    assert.deepEqual(watcher.frames, ['1', '2', '3', '4', '5']);
  });

  it('stops inspecting when the client goes', async () => {
    await using gateway = await gatewayFor();
    const watcher = new StreamClient(gateway, '/v1/inspect');
    await watched(gateway);
    watcher.socket.terminate();
    await until('the end of the watch', () => gateway.cluster.inspection.watchers.size === 0);
  });

  it('is closed with 1001 when the server stops, and no inspection is left', async () => {
    const gateway = await gatewayFor();
    const watcher = new StreamClient(gateway, '/v1/inspect');
    await until('the connection', () => watcher.socket.readyState === WebSocket.OPEN);
    await gateway.stop();
    await until('the close', () => watcher.closed);
    assert.deepEqual(watcher.closed, { code: 1001, reason: 'the server is shutting down; connect again' });
    assert.equal(gateway.cluster.inspection.watchers.size, 0);
  });

  it('is read by the typed client, which starts afresh when the connection is lost', async () => {
    const before = await gatewayFor();
    const { cluster, port, url } = before;
    cluster.inspection.present = numbered(1);
    const client = new ClusterClient({ server: url });
    const seen: string[] = [];
    const why: string[] = [];
    let after: TestGateway | undefined;
    for await (const text of inspectionFrames({ client, onRetry: (reason) => why.push(reason) })) {
      seen.push(text);
      if (seen.length === 1) {
        await before.stop();
        cluster.inspection.present = numbered(1, 2);
        after = await gatewayFor({ port }, cluster);
      } else break;
    }
    await client.close();
    await after?.stop();
    assert.deepEqual(seen, ['1', '2']);
    assert.match(why[0] ?? '', /closed with 1001/);
  });
});

describe('the inspection stream is refused by an HTTP answer', () => {
  const cases: [title: string, target: string, status: number, code: string][] = [
    ['without a credential', '/v1/inspect', 401, 'unauthenticated'],
    ['with an unknown token', '/v1/inspect?token=nope', 401, 'unauthenticated'],
    ['to a viewer', `/v1/inspect?token=${TOKENS.vic}`, 403, 'missing_rights'],
    ['to an executor', `/v1/inspect?token=${TOKENS.sam}`, 403, 'missing_rights'],
    ['for an unknown actor', `/v1/inspect?token=${TOKENS.ada}&actor=job_unknown`, 404, 'unknown_id'],
    ['for an actor without a name', `/v1/inspect?token=${TOKENS.ada}&actor=`, 400, 'malformed_query'],
  ];
  for (const [title, target, status, code] of cases) {
    it(`${title}: ${status}`, async () => {
      await using gateway = await gatewayFor({ principals });
      const answer = await ask(gateway.port, { line: `GET ${target}`, headers: UPGRADE });
      assert.deepEqual([answer.status, JSON.parse(answer.body).code], [status, code]);
      assert.equal(gateway.cluster.inspection.watchers.size, 0);
    });
  }
});

describe('a client of the inspection stream that does not keep up', () => {
  it('is closed with 1013, and the server keeps nothing for it', async () => {
    const { lines, log } = recordingLog('info');
    await using gateway = await gatewayFor({ log });
    const { inspection } = gateway.cluster;
    const watcher = new StreamClient(gateway, '/v1/inspect');
    await watched(gateway);
    await until('the connection', () => watcher.socket.readyState === WebSocket.OPEN);
    watcher.socket.pause();
    let texts = 0;
    const large: Inspected = {
      actorId: 'job_1',
      get text() {
        texts++;
        return 'x'.repeat(10_000);
      },
    };
    // The kernel takes some megabytes on both sides, then the rest waits, as references.
    await until('the server to give up', () => {
      inspection.tell(...Array.from({ length: 500 }, () => large));
      return inspection.watchers.size === 0;
    });
    assert.match(lines.join(), /an inspection stream is closed: too slow/);
    const made = texts;
    inspection.tell(large);
    assert.equal(texts, made);
    watcher.socket.resume();
    await until('the close', () => watcher.closed);
    assert.deepEqual(watcher.closed, { code: 1013, reason: 'too slow; connect again' });
    assert.ok(watcher.frames.length <= made);
  });
});

describe('a feed of inspection messages', () => {
  /** A socket that holds what it gets until `take`. */
  function slowSocket(feed: () => InspectionFeed) {
    const sent: string[] = [];
    let held = 0;
    return {
      sent,
      closed: undefined as number | undefined,
      send(text: string) {
        sent.push(text);
        held += 100;
      },
      cork: (work: () => void) => work(),
      buffered: () => held,
      end(code: number) {
        this.closed = code;
      },
      take() {
        held = 0;
        feed().drained();
      },
    };
  }
  const feedOf = (limits = { maxBuffered: 300, maxWaiting: 10 }) => {
    let ended = 0;
    const feed: InspectionFeed = new InspectionFeed(() => ended++, limits);
    return { feed, socket: slowSocket(() => feed), ends: () => ended };
  };
  const texts = (count: number) => Array.from({ length: count }, (_, i) => String(i + 1));

  it('sends as fast as the client reads, all of it in order, however much there is at the beginning', () => {
    const { feed, socket } = feedOf();
    feed.publish(numbered(100));
    feed.attach(socket);
    assert.equal(socket.sent.length, 4, 'no more than fits');
    feed.publish(numbered(5, 101));
    while (socket.sent.length < 105) socket.take();
    assert.deepEqual(socket.sent, texts(105));
    assert.equal(socket.closed, undefined);
  });

  it('writes very many messages in steps, between which others are served, for a client that reads all at once', async () => {
    const { feed, socket } = feedOf({ maxBuffered: 300, maxWaiting: 5000 });
    Object.assign(socket, { buffered: () => 0 });
    feed.publish(numbered(1000));
    feed.attach(socket);
    const steps = [socket.sent.length];
    while (socket.sent.length < 1000) {
      await new Promise((resolve) => setImmediate(resolve));
      steps.push(socket.sent.length);
    }
    assert.ok(steps.length >= 10, `sent in ${steps.length} steps`);
    assert.deepEqual(socket.sent, texts(1000));
  });

  it('buffers one large commit, but not another one on top of it', () => {
    const { feed, socket, ends } = feedOf();
    feed.attach(socket);
    feed.publish([]);
    feed.publish(numbered(50));
    assert.equal(socket.closed, undefined);
    feed.publish(numbered(1, 51));
    assert.deepEqual([socket.closed, ends()], [1013, 1]);
    socket.take();
    feed.publish(numbered(1, 52));
    assert.deepEqual(socket.sent, texts(4), 'a closed socket is left alone');
    feed.closed();
    assert.equal(ends(), 1);
  });

  it('that overflowed before its socket was open closes it at once', () => {
    const { feed, socket } = feedOf();
    feed.publish([]);
    feed.publish(numbered(50));
    feed.publish(numbered(1));
    feed.attach(socket);
    assert.deepEqual([socket.closed, socket.sent], [1013, []]);
  });
});

/** One job from its submission to its end, through the API. */
async function playOneJob(submitter: ClusterClient, executor: ClusterClient) {
  const { worker_id } = await executor.call('registerWorker', {
    body: { version: { packages: { demo: '1.0' } } },
  });
  await submitter.call('submitJob', { body: JOB });
  const { task } = await executor.call('lease', { params: { id: worker_id }, body: { wait_s: 20 } });
  assert.ok(task);
  const aim = { params: { id: task.task_id }, query: { worker_id, attempt: task.attempt } };
  await executor.call('startTask', { ...aim, body: {} });
  await executor.call('completeTask', { ...aim, body: { status: 'succeeded' } });
  return { worker_id };
}
