import { HttpPool } from './http-pool.ts';
import type { Control } from './loads.ts';
import { RESULT, worker } from './sample-job.ts';

interface Leased {
  task: { task_id: string; attempt: number } | null;
}

/** Simulated workers with one slot each: lease, start, complete, one task a lease, until all tasks are done. */
export async function lifecycle(
  { url, tasks, workers }: { url: string; tasks: number; workers: number },
  control: Control,
): Promise<{ completed: number; seconds: number }> {
  const pool = await HttpPool.open(url, workers);
  const ids = await Promise.all(
    Array.from({ length: workers }, async (_, i) => {
      const registered = await pool.accepted('/v1/workers/register', worker(`worker-${i}`, 1));
      return (JSON.parse(registered) as { worker_id: string }).worker_id;
    }),
  );
  const result = JSON.stringify(RESULT);
  await control.ready();
  const began = performance.now();
  let leases = 0;
  let completed = 0;
  const work = async (id: string) => {
    while (leases < tasks) {
      leases++;
      const { task } = JSON.parse(await pool.accepted(`/v1/workers/${id}/lease`)) as Leased;
      if (!task) throw new Error(`no task left after ${completed} of ${tasks}`);
      const query = `?worker_id=${id}&attempt=${task.attempt}`;
      await pool.accepted(`/v1/tasks/${task.task_id}/start${query}`);
      await pool.accepted(`/v1/tasks/${task.task_id}/complete${query}`, result);
      completed++;
    }
  };
  await Promise.all(ids.map(work));
  const seconds = (performance.now() - began) / 1000;
  pool.close();
  return { completed, seconds };
}
