import { HttpPool } from './http-pool.ts';
import type { Control } from './loads.ts';
import { worker } from './sample-job.ts';

/** Registers a worker and leases one task, at once. `seconds` from connecting to the answer. */
export async function firstLease({ url }: { url: string }, control: Control): Promise<{ seconds: number }> {
  await control.ready();
  const began = performance.now();
  const pool = await HttpPool.open(url, 1);
  const registered = await pool.accepted('/v1/workers/register', worker('first', 1));
  const { worker_id } = JSON.parse(registered) as { worker_id: string };
  const { task } = JSON.parse(await pool.accepted(`/v1/workers/${worker_id}/lease`)) as { task: unknown };
  if (!task) throw new Error('there was no task to lease');
  pool.close();
  return { seconds: (performance.now() - began) / 1000 };
}
