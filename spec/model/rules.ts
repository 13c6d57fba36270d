import { TIMES } from './operations.ts';
import {
  freeSlots,
  hasEnded,
  heldBy,
  isHeld,
  type Job,
  lacksPath,
  NEVER,
  namesPath,
  type Task,
  type Told,
  tasksOf,
  type Worker,
  type World,
  wallOf,
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
  task.leaseNumber = ++world.leased;
  task.sign = world.now;
  task.looked = false;
  stopWaiting(task);
  worker.revoked = worker.revoked.filter((name) => name !== task.name);
  tell(world, { type: 'task_leased', task: task.name, worker: worker.name, attempt: task.attempt });
  const job = world.jobs[task.job] as Job;
  if (job.status !== 'queued') return;
  job.status = 'running';
  tell(world, { type: 'job_running', job: job.name });
}

export function requeue(world: World, task: Task): void {
  const worker = task.worker;
  letGo(world, task, 'queued');
  task.worker = null;
  task.looked = false;
  tell(world, { type: 'task_requeued', task: task.name, worker, attempt: task.attempt });
}

function letGo(world: World, task: Task, status: Task['status']): void {
  const worker = isHeld(task) && task.worker !== null ? world.workers[task.worker] : undefined;
  task.status = status;
  // With a free slot nothing is doubtful.
  if (worker && freeSlots(world, worker) > 0) worker.doubtAt = NEVER;
  if (worker?.drained && heldBy(world, worker.name).length === 0)
    tell(world, { type: 'worker_drained', worker: worker.name });
  task.stopping = false;
  task.leaseEnds = NEVER;
  task.timesOut = NEVER;
}

function stopWaiting(task: Task): void {
  task.notBefore = null;
  task.waitsUntil = 0;
}

/** A task that was asked to waits after a failure, twice as long with each attempt that was spent. */
function wait(world: World, task: Task): void {
  if (!task.patient) return;
  const spent = task.attempt - Math.min(5, task.workerFaults) - task.givenBack;
  const seconds = Math.min(TIMES.longestBackoff, TIMES.backoff * 2 ** Math.max(0, spent - 1));
  task.notBefore = wallOf(world) + seconds;
  task.waitsUntil = world.now + seconds;
}

export function endTask(world: World, task: Task, status: Task['status'], told: Told): void {
  letGo(world, task, status);
  stopWaiting(task);
  tell(world, { ...told, task: task.name, attempt: task.attempt });
  endJob(world, world.jobs[task.job] as Job);
}

/**
 * A failure of an attempt, by report or by timeout.
 * @param free it costs nothing, and so nobody waits
 */
export function failOrRequeue(world: World, task: Task, requeued: boolean, free = false): void {
  const failed: Told = { type: 'task_failed', worker: task.worker, requeued };
  if (!requeued) {
    endTask(world, task, 'failed', failed);
    return;
  }
  tell(world, { ...failed, task: task.name, attempt: task.attempt });
  if (!free) wait(world, task);
  requeue(world, task);
}

/** Its worker has to end: to its place, and no attempt is spent. */
export function preempt(world: World, task: Task): void {
  task.maxAttempts++;
  task.givenBack++;
  requeue(world, task);
}

const registration = ({ name, session }: Worker): string => `${name}#${session}`;

const matches = (task: Task, worker: Worker): boolean => task.site === null || task.site === worker.site;

/** Whether the task names a path that the worker lacks. */
export const lacks = (world: World, task: Task, worker: Worker): boolean =>
  namesPath(task) && lacksPath(world, worker);

/**
 * Whether a worker meets what the task asks, reported no fault of its own for it, and lacks no path that it is known
 * for.
 */
export const mayRun = (world: World, task: Task, worker: Worker): boolean =>
  matches(task, worker) &&
  !task.avoids.includes(registration(worker)) &&
  !(task.looked && lacks(world, task, worker));

/** Its job is being cancelled or looked at, and its own slice has not come yet. */
export const isWithheld = (world: World, { job }: Task): boolean =>
  world.jobs[job]?.status === 'cancelling' || world.jobs[job]?.looking === true;

/**
 * The version of the library that a task would meet is known: it asks for one, or live workers may run it, which all
 * have the same.
 */
const knowsVersion = (world: World, task: Task): boolean =>
  task.pinned || Object.values(world.workers).some((worker) => worker.alive && matches(task, worker));

/** What was computed before is not computed again. */
export function reuse(world: World, task: Task): void {
  const from = task.content === null ? undefined : world.computed[task.content];
  if (from === undefined || !knowsVersion(world, task)) return;
  task.reusedFrom = from;
  task.result = world.tasks[from]?.result ?? null;
  endTask(world, task, 'succeeded', { type: 'task_reused', worker: null });
}

const canRunSomewhere = (world: World, task: Task): boolean =>
  Object.values(world.workers).some((worker) => worker.alive && mayRun(world, task, worker));

const isLackedSomewhere = (world: World): boolean =>
  Object.values(world.workers).some((worker) => lacksPath(world, worker));

/** Whether a fault of this worker's own is a reason to try the task with another. */
export function isTriedElsewhere(world: World, task: Task, name: string): boolean {
  const by = registration(world.workers[name] as Worker);
  const asked = { ...task, avoids: [...task.avoids, by], looked: isLackedSomewhere(world) };
  const elsewhere = canRunSomewhere(world, asked);
  return elsewhere && (task.workerFaults < 5 || task.attempt < task.maxAttempts);
}

export function avoid(world: World, task: Task, name: string): void {
  task.workerFaults++;
  task.avoids.push(registration(world.workers[name] as Worker));
}

/** What was put back for a worker's fault is known for its path, if somebody lacks it. */
export function lookAt(world: World, task: Task): void {
  if (task.status === 'queued') task.looked = isLackedSomewhere(world);
}

/** What avoids every live worker that could run it fails, and so does what names a path that all of them lack. */
export function giveUp(world: World): void {
  const workers = Object.values(world.workers).filter(({ alive }) => alive);
  for (const task of Object.values(world.tasks)) {
    if (task.status !== 'queued' || isWithheld(world, task) || canRunSomewhere(world, task)) continue;
    const isMissing = workers.some((worker) => matches(task, worker) && lacks(world, task, worker));
    if (task.avoids.length === 0 && !(task.looked && isMissing)) continue;
    endTask(world, task, 'failed', { type: 'task_failed', worker: null, requeued: false });
  }
}

/** A job ends with its last task: cancelled if that was asked for, else succeeded if one task did, else failed. */
export function endJob(world: World, job: Job): void {
  const tasks = tasksOf(world, job.name);
  // All that a queued job has to do may be given up.
  if (!tasks.every(hasEnded) || !['queued', 'running', 'cancelling'].includes(job.status)) return;
  if (job.status === 'cancelling') job.status = 'cancelled';
  else job.status = tasks.some((task) => task.status === 'succeeded') ? 'succeeded' : 'failed';
  tell(world, { type: `job_${job.status}`, job: job.name });
}

/**
 * What waits is cancelled at once; what runs is told to stop, and ends by its worker's word or silence. Those that a
 * worker holds come first.
 * @returns what stops where the next slice begins
 */
export function* cancelJob(world: World, job: Job): Generator<void> {
  job.status = 'cancelling';
  const tasks = tasksOf(world, job.name);
  const held = tasks.filter((task) => isHeld(task) && !task.stopping);
  held.sort((a, b) => a.leaseNumber - b.leaseNumber || a.order - b.order);
  const told = [...held, ...tasks.filter(({ status }) => status === 'queued')];
  for (const [i, task] of told.entries()) {
    if (i > 0) yield;
    const { status, worker } = task;
    if (status === 'running') {
      task.stopping = true;
      if (worker !== null) world.concerned.push(worker);
      continue;
    }
    if (status === 'leased') revoke(world, task);
    letGo(world, task, 'cancelled');
    stopWaiting(task);
    tell(world, { type: 'task_cancelled', task: task.name, worker, attempt: task.attempt });
  }
  if (!world.endsLate) endJob(world, job);
}

/** The task was taken from its worker without its word, so that the worker has to be told. */
function revoke(world: World, task: Task): void {
  if (task.worker === null) return;
  const worker = world.workers[task.worker] as Worker;
  worker.revoked = [...new Set([...worker.revoked, task.name])];
  world.concerned.push(worker.name);
}

export function expireLease(world: World, task: Task): void {
  const { worker } = task;
  revoke(world, task);
  if (task.stopping) {
    endTask(world, task, 'cancelled', { type: 'task_cancelled', worker });
    // A silent worker holds nothing any more.
    task.worker = null;
  } else {
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
