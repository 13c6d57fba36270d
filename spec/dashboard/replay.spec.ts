import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { type Context, stateId } from '../../gateway/ui/client/model/statecharts/replay/act.ts';
import { stepsOf } from '../../gateway/ui/client/model/statecharts/replay/steps.ts';
import { WorkerWorld } from '../../gateway/ui/client/model/statecharts/replay/worker.ts';
import { jobAtFirst, type Message, World } from '../../gateway/ui/client/model/statecharts/replay/world.ts';
import type { EventView } from '../../machines/schema/views.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { Hand, job, pipelines, submit } from './hands.ts';

type Kind = 'job' | 'task' | 'worker';
const actorOf = (client: ClusterClient, name: Kind, id: string) =>
  client.call('getActor', { params: { name, id } });
const eventsOf = async (client: ClusterClient): Promise<EventView[]> =>
  (await client.call('listEvents', { query: { limit: 5000 } })) as EventView[];

/** What is known of a context, against the committed one. */
function assertKnown(known: Context, committed: Context, what: string): void {
  for (const [name, value] of Object.entries(known)) {
    const isKnown = value !== undefined && !JSON.stringify(value, (_, one) => one ?? '?')?.includes('"?"');
    if (isKnown) assert.deepEqual(committed[name], value, `${what}: ${name}`);
  }
}

/** Makes a job happen again, and compares its end and that of its tasks with what is committed. */
async function assertReplayed(client: ClusterClient, id: string): Promise<World> {
  const all = (await eventsOf(client)).filter(({ job_id }) => job_id === id);
  const now = await actorOf(client, 'job', id);
  const begin = jobAtFirst(now.context);
  assert.ok(begin);
  const world = new World({ job: { id, context: begin }, tasks: new Map() }, all);
  assert.equal(world.fault, null, JSON.stringify(world.fault?.event));
  const snapshot = world.snapshot('job', id);
  assert.ok(snapshot);
  const [told, committed] = [stepsOf(world.messages, id).at(-1)?.to, stateId('job', now.value)];
  assert.ok(told && `${committed}.`.startsWith(`${told}.`), `${told} ${committed}`);
  assertKnown(snapshot.context, now.context, 'the job');
  for (const { id: taskId } of (await client.call('listJobTasks', { params: { id }, query: {} })) as {
    id: string;
  }[]) {
    const task = await actorOf(client, 'task', taskId);
    const alone = new World(
      { job: null, tasks: new Map([[taskId, { backoff_seconds: task.context.backoff_seconds }]]) },
      all.filter(({ task_id }) => task_id === taskId),
    );
    assert.equal(alone.fault, null, JSON.stringify(alone.fault?.event));
    const end = alone.snapshot('task', taskId);
    if (!end) continue;
    const isStopping = stateId('task', task.value) === 'task.running.stopping';
    assert.equal(
      stateId('task', end.value),
      isStopping ? 'task.running.executing' : stateId('task', task.value),
    );
    assertKnown(end.context, task.context, `task ${taskId}`);
  }
  return world;
}

async function assertWorker(client: ClusterClient, id: string): Promise<WorkerWorld> {
  const now = await actorOf(client, 'worker', id);
  const world = new WorkerWorld(
    id,
    (await eventsOf(client)).filter(({ worker_id }) => worker_id === id),
    now.context,
    true,
  );
  assert.equal(world.fault, null, JSON.stringify(world.fault?.event));
  const last = stepsOf(world.messages, id).at(-1);
  assert.equal(last?.to, stateId('worker', now.value));
  assertKnown(last?.after ?? {}, now.context, 'the worker');
  return world;
}

async function started(
  t: TestContext,
  options = {},
): Promise<{ server: TestServer; client: ClusterClient; hand: Hand }> {
  const server = await startTestServer(t, options);
  return { server, client: server.client, hand: await Hand.register(server.client, { slots_total: 3 }) };
}

const sent = (messages: readonly Message[], kind: string): string[] =>
  messages.filter(({ to }) => to.kind === kind).map(({ sent: { type } }) => type);

describe('the past of an actor, made to happen again by its machine', () => {
  it('ends where the actor is committed: after failures, successes, a retry and a second run', async (t) => {
    const { client, hand } = await started(t);
    const { id } = await submit(client, pipelines('a', 'b', 'c'));
    await hand.fail(await hand.run(), 'no luck', true);
    await hand.finish({ best_rmse: 0.4 });
    await hand.finish({ best_rmse: 0.3 });
    await hand.fail(await hand.lease(), 'broken');
    await assertReplayed(client, id);
    await client.call('retryJob', { params: { id }, body: {} });
    await assertReplayed(client, id);
    await hand.finish({ best_rmse: 0.2 });
    const world = await assertReplayed(client, id);
    assert.deepEqual(sent(world.messages, 'job').slice(0, 4), [
      'submitted',
      'TASK_LEASED',
      'TASK_STARTED',
      'TASK_REQUEUED',
    ]);
    const told = world.messages.filter(({ silent, to }) => silent && to.kind === 'job');
    assert.deepEqual(
      told.map(({ sent: { type } }) => type),
      ['BULK_DONE'],
      'it left no event, and is told as such',
    );
    await assertWorker(client, hand.id);
  });

  it('ends where it is committed: cancelled while tasks wait, are leased and run', async (t) => {
    const { client, hand } = await started(t);
    const { id } = await submit(client, pipelines('a', 'b', 'c', 'd'));
    const running = await hand.run();
    await hand.lease();
    await hand.finish({ best_rmse: 0.4 });
    await client.call('cancelJob', { params: { id }, body: {} });
    await assertReplayed(client, id);
    await hand.complete(running);
    const world = await assertReplayed(client, id);
    const ended = world.messages.find(({ sent: { type } }) => type.includes(' or '));
    assert.equal(ended?.after?.last_report, undefined, 'which report ended it is not recorded');
    await assertWorker(client, hand.id);
  });

  it('ends where it is committed: after a fault of a worker, whose task another one runs', async (t) => {
    const { client, hand } = await started(t);
    const other = await Hand.register(client, { name: 'other' });
    const { id } = await submit(client, { ...pipelines('a'), retry: { max_attempts: 1 } });
    const task = await hand.run();
    await client.call('failTask', {
      params: { id: task.task_id },
      query: { worker_id: hand.id, attempt: task.attempt },
      body: { error: 'no disk', retriable: true, fault: 'worker' },
    });
    await assertReplayed(client, id);
    await other.finish({ best_rmse: 1 });
    await assertReplayed(client, id);
    await assertWorker(client, other.id);
    await assertWorker(client, hand.id);
  });

  it('ends where it is committed: after a worker fell silent', async (t) => {
    const times = { leaseTtl: 3, heartbeatInterval: 0.5, workerDeadAfter: 3.5 };
    const { client, hand } = await started(t, times);
    const { id } = await submit(client, { ...pipelines('a'), retry: { max_attempts: 1 } });
    await hand.run();
    await until(
      'the job has failed',
      async () => (await client.call('getJob', { params: { id } })).status === 'failed',
    );
    await until(
      'the worker is dead',
      async () => (await actorOf(client, 'worker', hand.id)).value === 'dead',
    );
    const world = await assertReplayed(client, id);
    const lost = world.messages.find(({ sent: { type } }) => type === 'LEASE_EXPIRED');
    assert.deepEqual(lost?.states, ['task.running.executing', 'task.lost', 'task.failed']);
    await assertWorker(client, hand.id);
  });

  it('ends where it is committed: after an operator drained its worker, took its task back, and lifted the order', async (t) => {
    const { client, hand } = await started(t);
    const { id } = await submit(client, pipelines('a'));
    await hand.run();
    await client.call('drainWorker', { params: { id: hand.id }, body: { timeout_s: 0 } });
    await until('the task is taken back', async () => {
      return (await client.call('getJob', { params: { id } })).aggregate.num_queued === 1;
    });
    await assertReplayed(client, id);
    const world = await assertWorker(client, hand.id);
    assert.ok(sent(world.messages, 'worker').includes('DRAIN_ORDERED'));
    await client.call('resumeWorker', { params: { id: hand.id }, body: {} });
    await assertWorker(client, hand.id);
  });

  it('stops where what is recorded does not follow, and tells at which event', async (t) => {
    const { client, hand } = await started(t);
    const { id } = await submit(client, job());
    await hand.finish({});
    const all = (await eventsOf(client)).filter(({ job_id }) => job_id === id);
    const gap = all.filter(({ type }) => type !== 'task_started');
    const now = await actorOf(client, 'job', id);
    const world = new World(
      { job: { id, context: jobAtFirst(now.context) as Context }, tasks: new Map() },
      gap,
    );
    assert.equal(world.fault?.event.type, 'task_completed');
    assert.equal(world.snapshot('job', id), null);
  });

  it('knows nothing of what a job that selects knew, and says so', async () => {
    assert.equal(jobAtFirst({ selection: {}, num_tasks: 1 }), null);
  });
});

describe('an actor by the API', () => {
  it('is told as it is committed, and one that is not there is unknown', async (t) => {
    const { client, hand, server } = await started(t);
    const { id } = await submit(client, job());
    assert.deepEqual((await actorOf(client, 'job', id)).value, { queued: 'ready' });
    const task = await hand.run();
    const actor = await actorOf(client, 'task', task.task_id);
    assert.deepEqual(actor.value, { running: 'executing' });
    assert.equal(actor.context.worker_id, hand.id);
    await hand.fail(task, 'x'.repeat(5000));
    const failed = (await actorOf(client, 'task', task.task_id)).context.error as string;
    assert.match(failed, /^x{2000}… \(3000 more characters\)$/);
    for (const path of ['job/actors/job_nobody', 'agent/actors/x', 'nothing/actors/x'])
      assert.equal((await fetch(`${server.url}/v1/machines/${path}`)).status, 404, path);
  });
});
