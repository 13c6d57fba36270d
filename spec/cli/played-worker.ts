import type { ClusterClient } from '../../gateway/client/client.ts';
import type { TaskPayload } from '../../machines/schema/lease.ts';
import type { ReportedEvent } from '../../machines/schema/report.ts';
import type { WorkerRegistration } from '../../machines/schema/worker.ts';

/** A worker whose every step the test takes, over the real worker API. */
export async function playWorker(
  client: ClusterClient,
  slots = 4,
  differs: Partial<WorkerRegistration> = {},
) {
  const { worker_id } = await client.call('registerWorker', {
    body: { name: 'played', slots_total: slots, version: { packages: { mljs: '1.0' } }, ...differs },
  });
  const aim = (task: TaskPayload) => ({
    params: { id: task.task_id },
    query: { worker_id, attempt: task.attempt },
  });
  return {
    worker_id,
    /** Takes the next task and starts it. */
    async take(): Promise<TaskPayload> {
      const { task } = await client.call('lease', { params: { id: worker_id }, body: { wait_s: 20 } });
      if (task === null) throw new Error('no task to lease');
      await client.call('startTask', { ...aim(task), body: {} });
      return task;
    },
    report: (task: TaskPayload, events: ReportedEvent[]) =>
      client.call('reportEvents', { ...aim(task), body: { events } }),
    complete: (task: TaskPayload, metrics: Record<string, number> = { best_rmse: 0.25 }) =>
      client.call('completeTask', { ...aim(task), body: { status: 'succeeded', metrics } }),
    fail: (task: TaskPayload, error: string) =>
      client.call('failTask', { ...aim(task), body: { error, retriable: false } }),
  };
}

/** A job that a played worker takes; it has as many tasks as pipelines. */
export const jobOf = (...pipelines: string[]): string =>
  JSON.stringify({
    type: 'mljs.run',
    name: 'played',
    pipelines: pipelines.map((path) => ({ kind: 'path', path })),
    dataset: { kind: 'shared_path', path: 'data/corn' },
  });
