import { HttpPool } from './http-pool.ts';
import type { Control } from './loads.ts';
import { matrixJob } from './sample-job.ts';

/**
 * Queues many tasks by matrix jobs, each job with a requirement of its own (a little more memory than the last)
 * where several are asked for.
 */
export async function fill(
  { url, tasks, requirements }: { url: string; tasks: number; requirements: number },
  control: Control,
): Promise<{ queued: number }> {
  const pool = await HttpPool.open(url, 1);
  await control.ready();
  const perJob = Math.min(10_000, tasks / requirements);
  const datasets = Math.min(100, perJob);
  const jobs = Math.round(tasks / perJob);
  for (let i = 0; i < jobs; i++) {
    const wanted = requirements > 1 ? { min_memory_gb: 1 + (i % requirements) / 10 } : undefined;
    await pool.accepted('/v1/jobs', matrixJob(Math.round(perJob / datasets), datasets, wanted));
  }
  pool.close();
  return { queued: jobs * perJob };
}
