import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks a second in /proc: fixed at 100 for all programs on Linux (`man 5 proc`, USER_HZ). */
const TICKS = 100;

/** A process and all that descend from it, as /proc has them now. */
export function treeOf(root: number): number[] {
  const childrenOf = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const parent = fieldsOf(Number(name))?.[1];
    if (parent === undefined) continue;
    const siblings = childrenOf.get(Number(parent)) ?? [];
    childrenOf.set(Number(parent), [...siblings, Number(name)]);
  }
  const found = [root];
  // It grows while it is read.
  for (const pid of found) found.push(...(childrenOf.get(pid) ?? []));
  return found;
}

/** Processor time so far of processes with all their descendants, also of those that have ended, in seconds. */
export function treeCpuSeconds(...roots: number[]): number {
  const times = roots.flatMap(treeOf).map((pid) => {
    const fields = fieldsOf(pid) ?? [];
    // Its own, user and system, and that of the children that it has waited for.
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  });
  return times.reduce((sum, time) => sum + time, 0) / TICKS;
}

/** Memory of processes, bytes, where what several share counts once: their proportional set sizes. */
export function proportionalBytes(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + proportionalKib(pid), 0) * 1024;
}

function proportionalKib(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0);
  } catch {
    // It has ended.
    return 0;
  }
}

/** What follows the name in /proc/PID/stat; null of what is no process. */
function fieldsOf(pid: number): string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

/** Watches the memory of processes and their descendants; the function gives the highest sum so far. */
export function watchMemory(everyMs: number, ...roots: number[]): () => number {
  let peak = 0;
  const look = () => {
    peak = Math.max(peak, proportionalBytes(roots.flatMap(treeOf)));
  };
  const clock = setInterval(look, everyMs);
  return () => {
    clearInterval(clock);
    return peak;
  };
}
