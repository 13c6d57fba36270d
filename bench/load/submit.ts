import { HttpPool } from './http-pool.ts';
import type { Control } from './loads.ts';
import { oneTaskJob } from './sample-job.ts';

/** Submits one-task jobs as fast as the connections allow. */
export async function submit(
  { url, jobs, connections }: { url: string; jobs: number; connections: number },
  control: Control,
): Promise<{ accepted: number; seconds: number }> {
  const pool = await HttpPool.open(url, connections);
  const body = oneTaskJob('submitted');
  await control.ready();
  const began = performance.now();
  let left = jobs;
  let accepted = 0;
  const client = async () => {
    while (left-- > 0) {
      await pool.accepted('/v1/jobs', body);
      accepted++;
    }
  };
  await Promise.all(Array.from({ length: connections }, client));
  const seconds = (performance.now() - began) / 1000;
  pool.close();
  return { accepted, seconds };
}
