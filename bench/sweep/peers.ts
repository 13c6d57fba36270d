import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { watchMemory } from '../measure/tree.ts';

const PROGRAM = fileURLToPath(new URL('without.py', import.meta.url));
const execute = promisify(execFile);
/** Reading the memory of a large process takes tens of milliseconds, which the processors lack meanwhile. */
export const LOOK_AT_MEMORY_MS = 2_000;

/** What one way to do the sweep took. */
export interface Cost {
  /** Wall time. */
  seconds: number;
  /** Of all its processes together. */
  cpuSeconds: number;
  /** Peak of the proportional set sizes of all its processes together. */
  bytes: number;
  /** The best_rmse of each pipeline. */
  rmse: number[];
}

/** Whether an interpreter is there and has a library. */
export async function has(python: string, library: string): Promise<boolean> {
  try {
    return JSON.parse((await execute(python, [PROGRAM, 'has', library])).stdout) as boolean;
  } catch {
    return false;
  }
}

/** The sweep in a program of its own, from its start until it has ended. */
export async function withoutQueue(
  python: string,
  how: 'loop' | 'joblib' | 'dask',
  job: object,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<Cost> {
  const file = join(folder, 'job.json');
  writeFileSync(file, JSON.stringify(job));
  const began = performance.now();
  const running = execute(python, [PROGRAM, how, file], { env: { ...process.env, ...env } });
  const peak = watchMemory(LOOK_AT_MEMORY_MS, running.child.pid as number);
  try {
    const { stdout } = await running;
    const seconds = (performance.now() - began) / 1000;
    const { rmse, cpu } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as {
      rmse: number[];
      cpu: number;
    };
    return { seconds, cpuSeconds: cpu, bytes: peak(), rmse };
  } finally {
    peak();
  }
}
