import { HttpPool } from './http-pool.ts';
import type { Control } from './loads.ts';
import { matrixJob } from './sample-job.ts';

/** One large job after another; seconds from sending each to its durable answer. */
export async function matrix(
  { url, pipelines, datasets, jobs }: { url: string; pipelines: number; datasets: number; jobs: number },
  control: Control,
): Promise<{ seconds: number[]; ids: string[] }> {
  const pool = await HttpPool.open(url, 1);
  const body = matrixJob(pipelines, datasets);
  await control.ready();
  const seconds: number[] = [];
  const ids: string[] = [];
  for (let i = 0; i < jobs; i++) {
    const began = performance.now();
    const view = JSON.parse(await pool.accepted('/v1/jobs', body)) as {
      id: string;
      aggregate: { num_tasks: number };
    };
    seconds.push((performance.now() - began) / 1000);
    if (view.aggregate.num_tasks !== pipelines * datasets) throw new Error('not all tasks were made');
    ids.push(view.id);
  }
  pool.close();
  return { seconds, ids };
}
