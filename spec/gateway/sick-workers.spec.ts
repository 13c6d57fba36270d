import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ClusterClient } from '../../gateway/client/client.ts';
import type { JobView } from '../../machines/schema/views.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

type Failure = { error: string; fault: 'worker'; missing_path?: string };
type Payload = { task_id: string; attempt: number; dataset: { path: string } };

/** What is wrong with a worker: the failure that it reports for a task, at once; null where it can do it. */
type Sickness = (task: Payload) => Failure | null;

const WELL: Sickness = () => null;

/** A worker that leases, starts and reports over HTTP; failing ones are much faster than those that work. */
class PlayedWorker {
  leases = 0;
  readonly #client: ClusterClient;
  readonly #sickness: Sickness;
  readonly #id: string;

  private constructor(client: ClusterClient, id: string, sickness: Sickness) {
    this.#client = client;
    this.#id = id;
    this.#sickness = sickness;
  }

  static async register(client: ClusterClient, sickness: Sickness): Promise<PlayedWorker> {
    const body = { version: { packages: { demo: '1.0' } } };
    const { worker_id } = await client.call('registerWorker', { body });
    return new PlayedWorker(client, worker_id, sickness);
  }

  /** One task, if there is one for it. */
  async turn(): Promise<void> {
    const { task } = (await this.#client.call('lease', {
      params: { id: this.#id },
      body: { wait_s: 0.01 },
    })) as {
      task: Payload | null;
    };
    if (!task) return;
    this.leases++;
    const about = { params: { id: task.task_id }, query: { worker_id: this.#id, attempt: task.attempt } };
    await this.#client.call('startTask', { ...about, body: {} });
    const failure = this.#sickness(task);
    if (failure) await this.#client.call('failTask', { ...about, body: failure });
    else await this.#client.call('completeTask', { ...about, body: { status: 'succeeded' } });
  }
}

const jobOf = (tasks: number, path = '/share/gasoline') => ({
  type: 'demo.run',
  pipelines: Array.from({ length: tasks }, (_, i) => ({ kind: 'inline_json' as const, inline: [i] })),
  dataset: { kind: 'shared_path' as const, path },
  retry: { max_attempts: 3 },
});

/** The sick worker is asked as long as there is something for it before the healthy one gets one task. */
async function play(
  client: ClusterClient,
  id: string,
  sick: PlayedWorker,
  healthy: PlayedWorker,
): Promise<JobView> {
  return until('the job ends', async () => {
    for (let before = -1; sick.leases > before; ) {
      before = sick.leases;
      await sick.turn();
    }
    await healthy.turn();
    const job = await client.call('getJob', { params: { id } });
    return ['queued', 'running'].includes(job.status) ? null : job;
  });
}

describe('a job on a healthy worker and one that became faulty after it had connected', () => {
  const illnesses: Record<string, Sickness> = {
    'whose interpreter is gone': () => ({ error: 'spawn /opt/python: ENOENT', fault: 'worker' }),
    'whose disk is full': () => ({ error: 'ENOSPC: no space left on device', fault: 'worker' }),
    'whose share is not mounted': ({ dataset: { path } }) => ({
      error: `no such file on this machine: ${path}`,
      fault: 'worker',
      missing_path: path,
    }),
  };
  for (const [name, sickness] of Object.entries(illnesses)) {
    test(`${name} succeeds with all its tasks`, async (t) => {
      const { client } = await startTestServer(t);
      const sick = await PlayedWorker.register(client, sickness);
      const healthy = await PlayedWorker.register(client, WELL);
      const { id } = await client.call('submitJob', { body: jobOf(12) });
      const { status, aggregate } = await play(client, id, sick, healthy);
      assert.deepEqual([status, aggregate.num_succeeded, aggregate.num_failed], ['succeeded', 12, 0]);
      assert.equal(healthy.leases, 12);
      assert.ok(sick.leases > 0 && sick.leases <= 12, `the sick one was asked ${sick.leases} times`);
      const tasks = await client.call('listJobTasks', { params: { id } });
      for (const task of tasks) assert.ok(task.attempt <= 2 && task.attempt <= task.max_attempts);
    });
  }

  test('that lacks a share gets one task that names it, whatever the number of tasks', async (t) => {
    const { client } = await startTestServer(t);
    const sickness = illnesses['whose share is not mounted'] as Sickness;
    const sick = await PlayedWorker.register(client, sickness);
    const healthy = await PlayedWorker.register(client, WELL);
    const { id } = await client.call('submitJob', { body: jobOf(50) });
    const { aggregate } = await play(client, id, sick, healthy);
    assert.deepEqual([aggregate.num_succeeded, sick.leases], [50, 1]);
  });
});

test('a mistyped path in a job of 1,000 tasks costs one lease for each worker, and other jobs go on', async (t) => {
  const { client } = await startTestServer(t);
  const lacking: Sickness = ({ dataset: { path } }) =>
    path === '/share/gasolien'
      ? { error: `no such file on this machine: ${path}`, fault: 'worker', missing_path: path }
      : null;
  const [one, two] = [
    await PlayedWorker.register(client, lacking),
    await PlayedWorker.register(client, lacking),
  ];
  const { id } = await client.call('submitJob', { body: jobOf(1000, '/share/gasolien') });
  const { status, aggregate, error } = await play(client, id, one, two);
  assert.deepEqual([status, aggregate.num_failed], ['failed', 1000]);
  assert.equal(error, 'no such file on this machine: /share/gasolien');
  assert.equal(one.leases + two.leases, 2);
  const right = await client.call('submitJob', { body: jobOf(4) });
  assert.equal((await play(client, right.id, one, two)).aggregate.num_succeeded, 4);
});
