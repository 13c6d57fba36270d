import { HttpPool } from './http-pool.ts';
import type { Control } from './loads.ts';
import { worker } from './sample-job.ts';

/** Registers workers of one slot; each leases a task, starts it and keeps it. */
export async function occupy(
  { url, workers }: { url: string; workers: number },
  control: Control,
): Promise<{ running: number }> {
  const pool = await HttpPool.open(url, 64);
  await control.ready();
  let running = 0;
  const one = async (_: unknown, i: number) => {
    const registered = await pool.accepted('/v1/workers/register', worker(`occupied-${i}`, 1));
    const { worker_id } = JSON.parse(registered) as { worker_id: string };
    const { task } = JSON.parse(await pool.accepted(`/v1/workers/${worker_id}/lease`)) as {
      task: { task_id: string; attempt: number };
    };
    await pool.accepted(`/v1/tasks/${task.task_id}/start?worker_id=${worker_id}&attempt=${task.attempt}`);
    running++;
  };
  await Promise.all(Array.from({ length: workers }, one));
  pool.close();
  return { running };
}
