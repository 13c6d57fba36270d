import { HttpPool } from './http-pool.ts';
import type { Control } from './loads.ts';

/** Asks each path again and again, one request at a time; milliseconds of each answer, by path. */
export async function list(
  {
    url,
    paths,
    rounds,
  }: { url: string; paths: readonly { path: string; atLeast: number }[]; rounds: number },
  control: Control,
): Promise<{ times: number[][] }> {
  const pool = await HttpPool.open(url, 1);
  await control.ready();
  const times: number[][] = paths.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [i, { path, atLeast }] of paths.entries()) {
      const began = performance.now();
      const text = await pool.read(path);
      (times[i] as number[]).push(performance.now() - began);
      if (round === 0) assertLength(path, text, atLeast);
    }
  }
  pool.close();
  return { times };
}

function assertLength(path: string, text: string, atLeast: number): void {
  const answer = JSON.parse(text) as unknown;
  const length = Array.isArray(answer) ? answer.length : 1;
  if (length < atLeast) throw new Error(`GET ${path} gave ${length} entries, expected ${atLeast}`);
}
