import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ClusterClient } from '../../gateway/client/client.ts';
import { JOB } from '../support/job.ts';
import { temporaryDirectory } from '../support/server.ts';
import { type LaunchFaults, type ServerProgram, startServerProgram } from '../support/server-program.ts';
import { until } from '../support/until.ts';

/** Seconds; a stall that is longer stays short enough to wait for. */
const TTL = 3;
const LONGER = TTL + 1;
const BEAT_MS = 250;

/** A server with a worker that runs a task, and says so four times a second without waiting for answers. */
class Scene {
  readonly server: ServerProgram;
  readonly client: ClusterClient;
  readonly worker: string;
  readonly task: { task_id: string; attempt: number };
  /** Heartbeats that were answered. */
  answered = 0;
  #beating: NodeJS.Timeout | undefined;

  private constructor(server: ServerProgram, client: ClusterClient, worker: string, task: Scene['task']) {
    this.server = server;
    this.client = client;
    this.worker = worker;
    this.task = task;
  }

  static async set(t: TestContext, faults?: LaunchFaults): Promise<Scene> {
    const times = { leaseTtl: TTL, heartbeatInterval: 0.5, workerDeadAfter: TTL - 0.5 };
    const state = await temporaryDirectory(t);
    const server = await startServerProgram({ state, ...times, ...(faults && { faults }) });
    const client = new ClusterClient({ server: server.url, timeoutMs: 60_000 });
    const body = { version: { packages: { demo: '1.0' } } };
    const { worker_id } = await client.call('registerWorker', { body });
    await client.call('submitJob', { body: JOB });
    const { task } = await client.call('lease', { params: { id: worker_id }, body: {} });
    assert.ok(task, 'the task is leased');
    const scene = new Scene(server, client, worker_id, task);
    t.after(async () => {
      scene.fallSilent();
      await server.kill();
      await client.close();
    });
    await client.call('startTask', { params: { id: task.task_id }, query: { worker_id } });
    scene.speak();
    await scene.heard(2);
    return scene;
  }

  speak(): void {
    this.#beating = setInterval(() => {
      const active = [this.task];
      this.client.call('heartbeat', { params: { id: this.worker }, body: { active } }).then(
        () => this.answered++,
        () => {},
      );
    }, BEAT_MS);
  }

  fallSilent(): void {
    clearInterval(this.#beating);
  }

  /** Waits until so many more heartbeats are answered. */
  async heard(beats: number): Promise<void> {
    const before = this.answered;
    await until(`${beats} heartbeats are answered`, () => this.answered >= before + beats, 120);
  }

  /** The server stands still for so many seconds. */
  async stopFor(seconds: number): Promise<void> {
    process.kill(this.server.pid, 'SIGSTOP');
    await delay(seconds * 1000);
    process.kill(this.server.pid, 'SIGCONT');
  }

  async eventTypes(): Promise<string[]> {
    const events = await this.client.call('listEvents', { query: { after_id: 0, limit: 1000 } });
    return events.map((event) => event.type);
  }

  /** Nothing was lost: the result is taken, of the first attempt. */
  async endsWell(): Promise<void> {
    const { task_id, attempt } = this.task;
    const query = { worker_id: this.worker, attempt };
    await this.client.call('completeTask', { params: { id: task_id }, query, body: { status: 'succeeded' } });
    const types = await this.eventTypes();
    assert.deepEqual(
      types.filter((type) => /lost|dead|requeued/.test(type)),
      [],
    );
  }
}

// Each has a server of its own and mostly waits.
describe('a server that stalls', { concurrency: true }, () => {
  test('for longer than a lease takes no task from a worker that sends meanwhile', async (t) => {
    const scene = await Scene.set(t);
    for (let i = 0; i < 2; i++) {
      await scene.stopFor(LONGER);
      await scene.heard(8);
    }
    await scene.endsWell();
  });

  test('takes no task from a worker that stalls with it, as on a machine that is suspended', async (t) => {
    const scene = await Scene.set(t);
    scene.fallSilent();
    await scene.stopFor(LONGER);
    scene.speak();
    await scene.heard(8);
    await scene.endsWell();
  });

  test('because its event loop is blocked nine tenths of the time takes no task from a worker that sends', async (t) => {
    // Whatever the worker says waits for longer than a lease lasts.
    const scene = await Scene.set(t, { busyMs: 1000 * LONGER });
    process.kill(scene.server.pid, 'SIGUSR2');
    // What is sent in three such times is answered after each of them.
    await scene.heard((3 * 1000 * LONGER) / BEAT_MS);
    process.kill(scene.server.pid, 'SIGUSR2');
    await scene.endsWell();
  });

  test('again and again still finds a worker that has fallen silent', async (t) => {
    const scene = await Scene.set(t);
    scene.fallSilent();
    for (let lost = false; !lost; lost = (await scene.eventTypes()).includes('task_lost')) {
      await scene.stopFor(0.5);
      await delay(500);
    }
    assert.ok((await scene.eventTypes()).includes('worker_dead'), 'it counts as dead too');
  });
});
