import { readFile } from 'node:fs/promises';
import { statOf } from '../../actors/worker/child/proc.ts';
import { until } from '../support/until.ts';

/** Whether a process is there and not merely waiting to be reaped. */
export function isAlive(pid: number): boolean {
  const stat = statOf(pid);
  return stat !== undefined && !stat.zombie;
}

/** The number in a file that a process leaves. */
export const pidIn = (path: string): Promise<number> =>
  until(`a process id in ${path}`, async () => Number(await readFile(path, 'utf8').catch(() => '')) || false);
