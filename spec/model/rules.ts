import { TIMES } from './operations.ts';
import {
  hasEnded,
  isHeld,
  type Job,
  NEVER,
  type Task,
  type Told,
  tasksOf,
  type Worker,
  type World,
} from './world.ts';

export function tell(world: World, told: Told): void {
  const job = told.task === undefined ? told.job : world.tasks[told.task]?.job;
  world.events.push(job === undefined ? told : { ...told, job });
}

/** A sign of life of a worker. */
export function hear(world: World, name: string): Worker {
  const worker = world.workers[name] as Worker;
  worker.silentAt = world.now + TIMES.deadAfter;
  if (!worker.alive && !world.storeFails) {
    worker.alive = true;
    tell(world, { type: 'worker_alive', worker: name });
  }
  return worker;
}

/** Whether the report is the one that was accepted last; without an attempt, one of a newer lease is not. */
export function isKnownRepetition(task: Task, worker: string, verb: string, attempt: number | null): boolean {
  const { last } = task;
  if (last?.verb !== verb || last.worker !== worker) return false;
  if (attempt !== null) return last.attempt === attempt;
  return !(isHeld(task) && task.worker === worker && task.attempt > last.attempt);
}

export function startLease(world: World, task: Task, worker: Worker): void {
  task.status = 'leased';
  task.attempt++;
  task.worker = worker.name;
  task.leaseEnds = world.now + TIMES.leaseTtl;
  task.sign = world.now;
  worker.revoked = worker.revoked.filter((name) => name !== task.name);
  tell(world, { type: 'task_leased', task: task.name, worker: worker.name, attempt: task.attempt });
  const job = world.jobs[task.job] as Job;
  if (job.status !== 'queued') return;
  job.status = 'running';
  tell(world, { type: 'job_running', job: job.name });
}

export function requeue(world: World, task: Task): void {
  const worker = task.worker;
  letGo(task, 'queued');
  task.worker = null;
  tell(world, { type: 'task_requeued', task: task.name, worker, attempt: task.attempt });
}

function letGo(task: Task, status: Task['status']): void {
  task.status = status;
  task.stopping = false;
  task.leaseEnds = NEVER;
  task.timesOut = NEVER;
}

export function endTask(world: World, task: Task, status: Task['status'], told: Told): void {
  letGo(task, status);
  tell(world, { ...told, task: task.name, attempt: task.attempt });
  endJob(world, world.jobs[task.job] as Job);
}

/** A failure of an attempt, by report or by timeout. */
export function failOrRequeue(world: World, task: Task, requeued: boolean): void {
  const failed: Told = { type: 'task_failed', worker: task.worker, requeued };
  if (!requeued) {
    endTask(world, task, 'failed', failed);
    return;
  }
  tell(world, { ...failed, task: task.name, attempt: task.attempt });
  requeue(world, task);
}

const registration = ({ name, session }: Worker): string => `${name}#${session}`;

/** Whether a worker meets what the task asks, and reported no fault of its own for it. */
export const mayRun = (task: Task, worker: Worker): boolean =>
  (task.site === null || task.site === worker.site) && !task.avoids.includes(registration(worker));

const canRunSomewhere = (world: World, task: Task): boolean =>
  Object.values(world.workers).some((worker) => worker.alive && mayRun(task, worker));

/** Whether a fault of this worker's own is a reason to try the task with another. */
export function isTriedElsewhere(world: World, task: Task, name: string): boolean {
  const by = registration(world.workers[name] as Worker);
  const elsewhere = canRunSomewhere(world, { ...task, avoids: [...task.avoids, by] });
  return elsewhere && (task.workerFaults < 5 || task.attempt < task.maxAttempts);
}

export function avoid(world: World, task: Task, name: string): void {
  task.workerFaults++;
  task.avoids.push(registration(world.workers[name] as Worker));
}

/** What avoids every live worker that could run it fails. */
export function giveUp(world: World): void {
  for (const task of Object.values(world.tasks)) {
    if (task.status !== 'queued' || task.avoids.length === 0 || canRunSomewhere(world, task)) continue;
    endTask(world, task, 'failed', { type: 'task_failed', worker: null, requeued: false });
  }
}

/** A job ends with its last task: cancelled if that was asked for, else succeeded if one task did, else failed. */
function endJob(world: World, job: Job): void {
  const tasks = tasksOf(world, job.name);
  if (!tasks.every(hasEnded) || !['running', 'cancelling'].includes(job.status)) return;
  if (job.status === 'cancelling') job.status = 'cancelled';
  else job.status = tasks.some((task) => task.status === 'succeeded') ? 'succeeded' : 'failed';
  tell(world, { type: `job_${job.status}`, job: job.name });
}

/** What waits is cancelled at once; what runs is told to stop, and ends by its worker's word or silence. */
export function cancelJob(world: World, job: Job): void {
  job.status = 'cancelling';
  const tasks = tasksOf(world, job.name);
  for (const task of tasks) {
    const { status, worker } = task;
    if (status === 'running') {
      task.stopping = true;
      if (worker !== null) world.concerned.push(worker);
    }
    if (status !== 'queued' && status !== 'leased') continue;
    if (status === 'leased') revoke(world, task);
    letGo(task, 'cancelled');
    tell(world, { type: 'task_cancelled', task: task.name, worker, attempt: task.attempt });
  }
  endJob(world, job);
}

/** The task was taken from its worker without its word, so that the worker has to be told. */
function revoke(world: World, task: Task): void {
  if (task.worker === null) return;
  const worker = world.workers[task.worker] as Worker;
  worker.revoked = [...new Set([...worker.revoked, task.name])];
  world.concerned.push(worker.name);
}

export function lapse(world: World, task: Task): void {
  const { worker } = task;
  revoke(world, task);
  if (task.stopping) endTask(world, task, 'cancelled', { type: 'task_cancelled', worker });
  else {
    tell(world, { type: 'task_lost', task: task.name, worker, attempt: task.attempt });
    if (task.attempt < task.maxAttempts) requeue(world, task);
    else endTask(world, task, 'failed', { type: 'task_failed', worker, requeued: false });
  }
}

export function timeOut(world: World, task: Task): void {
  revoke(world, task);
  if (task.stopping) endTask(world, task, 'cancelled', { type: 'task_cancelled', worker: task.worker });
  else failOrRequeue(world, task, task.attempt < task.maxAttempts);
}

/** The answer of a lease reached nobody: the task is back in its place, and no attempt was spent. */
export function giveBack(world: World, task: Task): void {
  task.attempt--;
  requeue(world, task);
}
