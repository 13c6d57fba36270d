import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Target } from '../target.ts';
import type { Pool } from './requests.ts';

const job = (differs: Record<string, unknown> = {}) => ({
  type: 'demo.run',
  pipeline: { kind: 'inline_json', inline: { steps: [1.0] } },
  dataset: { kind: 'shared_path', path: '/data/x' },
  ...differs,
});

const REPORTS = ['startTask', 'reportEvents', 'uploadTaskArtifact', 'completeTask', 'failTask'];

/** A cluster in which every kind of thing exists in several states, so that requests find something. */
export class World implements Pool {
  readonly #ids: Record<string, string[]> = { jobs: [], tasks: [], workers: [], artifacts: [] };
  readonly #target: Target;

  private constructor(target: Target) {
    this.#target = target;
  }

  static async on(target: Target): Promise<World> {
    const world = new World(target);
    await world.#populate();
    return world;
  }

  of(parameter: string, path: string, place: number): string {
    const machines = ['job', 'task', 'worker', 'supervisor', 'agent', 'run'];
    if (parameter === 'name') return machines[place % machines.length] as string;
    const kind = parameter === 'worker_id' ? 'workers' : (path.split('/')[2] as string);
    const ids = this.#ids[kind] ?? [];
    // Most reports are of the worker that holds the tasks.
    if (parameter === 'worker_id') return ids[place % 4 === 3 ? 1 : 0] ?? 'none';
    return ids[place % ids.length] ?? 'none';
  }

  /** Looks at what requests have left behind, and takes tasks for those who report on them. */
  async refresh(operation: string): Promise<void> {
    const { client } = this.#target;
    const jobs = await client.call('listJobs', { query: { limit: 5 } });
    this.#ids.jobs?.push(...jobs.map(({ id }) => id));
    if (!REPORTS.includes(operation)) return;
    for (let i = 0; i < 20; i++)
      await client.call('submitJob', { text: JSON.stringify(job({ priority: 9 })) });
    const worker_id = this.#ids.workers?.[0] as string;
    const { tasks = [] } = await client.call('lease', { params: { id: worker_id }, body: { max_tasks: 20 } });
    for (const { task_id } of operation === 'startTask' ? [] : tasks) {
      await client.call('startTask', { params: { id: task_id }, query: { worker_id } });
    }
    this.#ids.tasks = [...tasks.map(({ task_id }) => task_id), ...(this.#ids.tasks ?? []).slice(0, 5)];
  }

  async #populate(): Promise<void> {
    const { client } = this.#target;
    const body = { slots_total: 1000, version: { packages: { demo: '1.0' } } };
    for (let i = 0; i < 3; i++) {
      this.#ids.workers?.push((await client.call('registerWorker', { body })).worker_id);
    }
    const worker_id = this.#ids.workers?.[0] as string;
    const file = join(this.#target.state, 'upload');
    for (const text of ['', 'some bytes', 'x'.repeat(100_000)]) {
      await writeFile(file, text);
      this.#ids.artifacts?.push((await client.upload('uploadArtifact', { file })).artifact_id);
    }
    for (const ending of ['none', 'none', 'lease', 'start', 'complete', 'fail', 'cancel'] as const) {
      const { id } = await client.call('submitJob', {
        text: JSON.stringify(job({ name: ending, priority: 5 })),
      });
      this.#ids.jobs?.push(id);
      if (ending === 'cancel') await client.call('cancelJob', { params: { id } });
      const [first] = await client.call('listJobTasks', { params: { id } });
      const task = { id: first?.id as string };
      this.#ids.tasks?.push(task.id);
      if (ending === 'none' || ending === 'cancel') continue;
      // The first leases take the older jobs; which one is leased does not matter.
      const { task: leased } = await client.call('lease', { params: { id: worker_id } });
      const params = { id: leased?.task_id ?? task.id };
      if (ending === 'lease') continue;
      await client.call('startTask', { params, query: { worker_id } });
      const result = { status: 'succeeded', metrics: { best_rmse: 1 } } as const;
      if (ending === 'complete')
        await client.call('completeTask', { params, query: { worker_id }, body: result });
      if (ending === 'fail')
        await client.call('failTask', { params, query: { worker_id }, body: { error: 'x' } });
    }
  }
}
