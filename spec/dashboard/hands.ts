import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ClusterClient } from '../../gateway/client/client.ts';
import type { JobSpec } from '../../machines/schema/job.ts';
import type { TaskPayload } from '../../machines/schema/lease.ts';
import type { ReportedEvent, TaskResult } from '../../machines/schema/report.ts';
import type { JobView } from '../../machines/schema/views.ts';
import type { WorkerRegistration } from '../../machines/schema/worker.ts';
import { startTestServer } from '../support/server.ts';

type Differs = Partial<JobSpec> & Record<string, unknown>;

/** The smallest valid job; give what differs. */
export const job = (differs: Differs = {}): JobSpec => ({
  type: 'demo.run',
  ...(!differs.pipelines && { pipeline: { kind: 'path', path: 'pipelines/pls.yaml' } }),
  dataset: { kind: 'shared_path', path: '/data/corn', name: 'corn' },
  ...differs,
});

/** Pipelines for a job of several tasks, labelled by these names. */
export const pipelines = (...names: string[]): Differs => ({
  pipelines: names.map((name) => ({ kind: 'path' as const, path: `pipelines/${name}.yaml` })),
});

export const submit = (client: ClusterClient, differs: Differs = {}): Promise<JobView> =>
  client.call('submitJob', { body: job(differs) });

/** A worker at the API, whose moves the test makes. */
export class Hand {
  readonly id: string;
  readonly #client: ClusterClient;

  private constructor(client: ClusterClient, id: string) {
    this.#client = client;
    this.id = id;
  }

  static async register(client: ClusterClient, registration: WorkerRegistration = {}): Promise<Hand> {
    const version = { cluster: '0.1.0', packages: { demo: '1.0' } };
    const { worker_id } = await client.call('registerWorker', {
      body: { name: 'hand', version, ...registration },
    });
    return new Hand(client, worker_id);
  }

  async lease(): Promise<TaskPayload> {
    const { task } = await this.#client.call('lease', { params: { id: this.id }, body: {} });
    if (!task) throw new Error('no task was leased');
    return task;
  }

  async run(): Promise<TaskPayload> {
    const task = await this.lease();
    await this.#client.call('startTask', this.#aim(task, { body: {} }));
    return task;
  }

  tell(task: TaskPayload, events: ReportedEvent[]): Promise<unknown> {
    return this.#client.call('reportEvents', this.#aim(task, { body: { events } }));
  }

  print(task: TaskPayload, message: string): Promise<unknown> {
    return this.tell(task, [{ type: 'log', level: 'info', message }]);
  }

  complete(task: TaskPayload, result: Partial<TaskResult> = {}): Promise<unknown> {
    const body: TaskResult = { status: 'succeeded', ...result };
    return this.#client.call('completeTask', this.#aim(task, { body }));
  }

  fail(task: TaskPayload, error: string, retriable = false): Promise<unknown> {
    return this.#client.call('failTask', this.#aim(task, { body: { error, retriable } }));
  }

  /** Runs the next task to its end. */
  async finish(metrics: Record<string, number>): Promise<TaskPayload> {
    const task = await this.run();
    await this.complete(task, { metrics });
    return task;
  }

  /** Uploads a file of the task; `dir` is where it may be written first. */
  async upload(
    task: TaskPayload,
    dir: string,
    role: string,
    filename: string,
    content: string,
  ): Promise<string> {
    const file = join(dir, `${role}-${filename}`);
    await writeFile(file, content);
    const { artifact_id } = await this.#client.upload('uploadTaskArtifact', {
      ...this.#aim(task, {}),
      query: { role, kind: role, worker_id: this.id, attempt: task.attempt },
      file,
      filename,
    });
    return artifact_id;
  }

  #aim<T extends object>({ task_id, attempt }: TaskPayload, rest: T) {
    return { params: { id: task_id }, query: { worker_id: this.id, attempt }, ...rest };
  }
}

/** A server, and a worker whose moves the test makes. */
export async function serverAndHand(t: TestContext) {
  const server = await startTestServer(t);
  return { server, hand: await Hand.register(server.client) };
}

/** The same, with a job for it. */
export async function jobAndHand(t: TestContext, differs: Differs = {}) {
  const server = await startTestServer(t);
  const job = await submit(server.client, differs);
  return { server, job, hand: await Hand.register(server.client) };
}
