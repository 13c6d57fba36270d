import { isWithheld, lacks, mayRun, startLease } from './rules.ts';
import { freeSlots, lacksPath, type Task, type WaitingLease, type Worker, type World } from './world.ts';

interface Pick {
  waiting: WaitingLease;
  worker: Worker;
  task: Task;
}

/**
 * Leases that wait get what there is, in rounds: what turns out to name a path that its worker lacks is known for it,
 * and the others are dealt anew. More and more tasks are looked at for a worker that lacks a path.
 */
export function grant(world: World): void {
  for (let ahead = 0; grantRound(world, ahead) > 0; ) ahead = Math.min(250, ahead * 4 + 8);
}

/** @returns how many tasks are known for their path from now on */
function grantRound(world: World, ahead: number): number {
  const given = new Map<WaitingLease, Task[]>();
  let found = 0;
  for (const { waiting, worker, task } of pickAll(world, ahead)) {
    if (lacks(world, task, worker)) {
      task.looked = true;
      found++;
      continue;
    }
    const before = given.get(waiting) ?? [];
    if (before.length >= waiting.max || freeSlots(world, worker) === 0) continue;
    startLease(world, task, worker);
    given.set(waiting, [...before, task]);
  }
  for (const [{ ticket }, tasks] of given) {
    const body = { tasks: tasks.map(({ name, attempt }) => ({ task: name, attempt })) };
    world.answers[ticket] = { status: 200, body };
  }
  world.leases = world.leases.filter((lease) => !given.has(lease));
  return found;
}

function pickAll(world: World, ahead: number): Pick[] {
  const picks: Pick[] = [];
  const taken = new Set<Task>();
  const dealt = new Map<Worker, number>();
  for (const waiting of world.leases) {
    const worker = world.workers[waiting.worker];
    if (!worker?.alive || worker.drained || world.paused.length > 0) continue;
    const wanted = Math.min(freeSlots(world, worker) - (dealt.get(worker) ?? 0), waiting.max);
    const tasks = Object.values(world.tasks)
      .filter((task) => task.status === 'queued' && task.waitsUntil === 0 && !taken.has(task))
      .filter((task) => !isWithheld(world, task) && mayRun(world, task, worker))
      .sort((a, b) => b.priority - a.priority || a.order - b.order)
      .slice(0, wanted > 0 && lacksPath(world, worker) ? wanted + ahead : Math.max(0, wanted));
    dealt.set(worker, (dealt.get(worker) ?? 0) + Math.min(wanted, tasks.length));
    for (const task of tasks) {
      taken.add(task);
      picks.push({ waiting, worker, task });
    }
  }
  return picks;
}
