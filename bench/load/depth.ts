import { HttpPool } from './http-pool.ts';
import type { Control } from './loads.ts';
import { worker } from './sample-job.ts';

/**
 * Leases from several servers in turns, one at a time, so that whatever else the machine does hits all of them
 * alike. Milliseconds of each lease, by server.
 */
export async function depth(
  { urls, warmUp, leases }: { urls: readonly string[]; warmUp: number; leases: number },
  control: Control,
): Promise<{ times: number[][] }> {
  const lines = await Promise.all(
    urls.map(async (url) => {
      const pool = await HttpPool.open(url, 1);
      const registered = await pool.accepted('/v1/workers/register', worker('deep', 100_000));
      const { worker_id } = JSON.parse(registered) as { worker_id: string };
      return { pool, path: `/v1/workers/${worker_id}/lease` };
    }),
  );
  await control.ready();
  const times: number[][] = urls.map(() => []);
  for (let round = 0; round < warmUp + leases; round++) {
    for (const [i, { pool, path }] of lines.entries()) {
      const began = performance.now();
      const answer = await pool.accepted(path);
      if (round >= warmUp) (times[i] as number[]).push(performance.now() - began);
      if (answer.startsWith('{"task":null')) throw new Error(`server ${i} had no task in round ${round}`);
    }
  }
  for (const { pool } of lines) pool.close();
  return { times };
}
