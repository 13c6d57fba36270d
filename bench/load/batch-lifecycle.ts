import { HttpPool } from './http-pool.ts';
import type { Control } from './loads.ts';
import { RESULT, worker } from './sample-job.ts';

interface Task {
  task_id: string;
  attempt: number;
}

/**
 * The lifecycle by workers with many slots: `max_tasks` at a lease, reports in bulk where the server offers
 * them, otherwise one request a report over as many connections as there are workers and more.
 */
export async function batchLifecycle(
  { url, tasks, workers, batch }: { url: string; tasks: number; workers: number; batch: number },
  control: Control,
): Promise<{ completed: number; seconds: number; bulkReports: boolean }> {
  const pool = await HttpPool.open(url, 64);
  const { paths } = JSON.parse(await pool.read('/openapi.json')) as { paths: Record<string, unknown> };
  const bulkReports = '/v1/tasks/reports' in paths;
  const ids = await Promise.all(
    Array.from({ length: workers }, async (_, i) => {
      const registered = await pool.accepted('/v1/workers/register', worker(`batch-${i}`, batch));
      return (JSON.parse(registered) as { worker_id: string }).worker_id;
    }),
  );
  const report = bulkReports ? bulk : single;
  await control.ready();
  const began = performance.now();
  let asked = 0;
  let completed = 0;
  const work = async (id: string) => {
    while (asked < tasks) {
      const max_tasks = Math.min(batch, tasks - asked);
      asked += max_tasks;
      const answer = await pool.accepted(`/v1/workers/${id}/lease`, JSON.stringify({ max_tasks }));
      const leased = (JSON.parse(answer) as { tasks: Task[] }).tasks;
      if (leased.length === 0) throw new Error(`no task left after ${completed} of ${tasks}`);
      asked -= max_tasks - leased.length;
      await report(pool, id, leased, 'start');
      await report(pool, id, leased, 'complete');
      completed += leased.length;
    }
  };
  await Promise.all(ids.map(work));
  const seconds = (performance.now() - began) / 1000;
  pool.close();
  return { completed, seconds, bulkReports };
}

type Verb = 'start' | 'complete';

async function bulk(pool: HttpPool, worker_id: string, tasks: Task[], type: Verb): Promise<void> {
  const fields = type === 'complete' ? { result: RESULT } : {};
  const reports = tasks.map(({ task_id, attempt }) => ({ type, task_id, worker_id, attempt, ...fields }));
  const answer = await pool.accepted('/v1/tasks/reports', JSON.stringify({ reports }));
  const { results } = JSON.parse(answer) as { results: { ok?: boolean; error?: unknown }[] };
  if (results.length !== tasks.length || results.some((result) => result.ok !== true)) {
    throw new Error(`not every report was accepted: ${answer.slice(0, 500)}`);
  }
}

async function single(pool: HttpPool, worker_id: string, tasks: Task[], type: Verb): Promise<void> {
  const body = type === 'complete' ? JSON.stringify(RESULT) : '';
  await Promise.all(
    tasks.map(({ task_id, attempt }) =>
      pool.accepted(`/v1/tasks/${task_id}/${type}?worker_id=${worker_id}&attempt=${attempt}`, body),
    ),
  );
}
