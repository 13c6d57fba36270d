import { isDeepStrictEqual } from 'node:util';
import type { JobView, TaskView } from '../../machines/schema/views.ts';
import { readJob, readTasks, seen } from '../support/views.ts';
import type { Names } from './compare.ts';
import type { System } from './system.ts';
import { heldBy, isHeld, type Task, tasksOf, type World, wallOf } from './world.ts';

/** Compares all that can be read with the reference. @returns what does not fit, or null */
export async function stateMismatch(world: World, system: System, names: Names): Promise<string | null> {
  const { port, clock } = system;
  const { reads } = port;
  // What heartbeats move in memory, as people read it: seconds until the lease ends.
  const left = (at: number | null) => (at === null ? null : Math.round(at - clock.now()));
  const jobs = await seen(port).jobs({ limit: 1000 });
  const created = jobs.map((job) => job.created_at);
  if (created.some((at, i) => i > 0 && at >= (created[i - 1] as number)))
    return 'creation times do not increase';
  const actual: Record<string, unknown> = {};
  const expected: Record<string, unknown> = {};
  for (const listed of jobs) {
    const { id } = listed;
    // The list has all that the job's own view has, but for the errors.
    const view = listed.aggregate.num_failed > 0 ? await readJob(port, id) : listed;
    actual[names.nameOf(id)] = seenJob(view, names);
    for (const task of await readTasks(port, id)) {
      const view = {
        ...seenTask(task, names),
        leaseEndsIn: left(task.lease_expires_at),
        waits: left(task.not_before),
      };
      actual[names.nameOf(task.id)] = view;
    }
  }
  for (const worker of await seen(port).workers()) {
    const { status, slots_total, slots_used, suspended, drained } = worker;
    const [isSuspended, isDrained] = [suspended !== null, drained !== null];
    actual[names.nameOf(worker.id)] = {
      status,
      slots_total,
      slots_used,
      suspended: isSuspended,
      drained: isDrained,
    };
  }
  for (const name of Object.keys(world.jobs)) expected[name] = expectedJob(world, name);
  for (const task of Object.values(world.tasks)) {
    const leaseEndsIn = isHeld(task) ? Math.round(task.leaseEnds - world.now) : null;
    const waits = task.notBefore === null ? null : Math.round(task.notBefore - wallOf(world));
    expected[task.name] = { ...expectedTask(task), leaseEndsIn, waits };
  }
  for (const worker of Object.values(world.workers)) {
    const status = worker.alive ? 'alive' : 'dead';
    expected[worker.name] = {
      status,
      slots_total: worker.slots,
      slots_used: heldBy(world, worker.name).length,
      suspended: worker.suspended,
      drained: worker.drained,
    };
  }
  for (const name of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    if (!isDeepStrictEqual(expected[name], actual[name])) {
      return `${name}: expected ${JSON.stringify(expected[name])}, is ${JSON.stringify(actual[name])}`;
    }
  }
  return statsMismatch(world, await reads.stats());
}

function seenJob({ status, priority, aggregate }: JobView, names: Names): object {
  const { num_tasks, num_queued, num_running, num_succeeded, num_failed, num_cancelled } = aggregate;
  return {
    ...{ status, priority },
    counts: { num_tasks, num_queued, num_running, num_succeeded, num_failed, num_cancelled },
    best: aggregate.best_metric,
    reused: aggregate.num_reused,
    errors: Object.keys(aggregate.errors).map((id) => names.nameOf(id)),
  };
}

function expectedJob(world: World, name: string): object {
  const tasks = tasksOf(world, name);
  const count = (...statuses: string[]) => tasks.filter((task) => statuses.includes(task.status)).length;
  const results = tasks.flatMap((task) => (task.result === null ? [] : [task.result]));
  return {
    ...{ status: world.jobs[name]?.status, priority: world.jobs[name]?.priority },
    counts: {
      num_tasks: tasks.length,
      num_queued: count('queued', 'leased'),
      num_running: count('running'),
      num_succeeded: count('succeeded'),
      num_failed: count('failed'),
      num_cancelled: count('cancelled'),
    },
    best: results.length > 0 ? Math.min(...results) : null,
    reused: tasks.filter(({ reusedFrom }) => reusedFrom !== null).length,
    errors: tasks.filter((task) => task.status === 'failed').map((task) => task.name),
  };
}

function seenTask(view: TaskView, names: Names): object {
  const { metrics } = (view.result ?? {}) as { metrics?: { best_rmse: number } };
  return {
    status: view.status,
    attempt: view.attempt,
    max: view.max_attempts,
    worker: view.worker_id === null ? null : names.nameOf(view.worker_id),
    result: metrics?.best_rmse ?? null,
    from: view.reused_from ? names.nameOf(view.reused_from.task_id) : null,
  };
}

function expectedTask(task: Task): object {
  const { status, attempt, maxAttempts, worker, result, reusedFrom } = task;
  return { status, attempt, max: maxAttempts, worker, result, from: reusedFrom };
}

function statsMismatch(
  world: World,
  stats: {
    jobs_by_status: object;
    tasks_by_status: object;
    tasks_in_flight: number;
    workers_alive: number;
    workers_dead: number;
  },
): string | null {
  const count = (list: { status: string }[]) => {
    const counts: Record<string, number> = {};
    for (const { status } of list) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  };
  const real = (counts: object) => Object.fromEntries(Object.entries(counts).filter(([, n]) => n !== 0));
  const alive = Object.values(world.workers).filter((worker) => worker.alive).length;
  const expected = {
    jobs: count(Object.values(world.jobs)),
    tasks: count(Object.values(world.tasks)),
    flying: Object.values(world.tasks).filter(isHeld).length,
    workers: [alive, Object.keys(world.workers).length - alive],
  };
  const actual = {
    jobs: real(stats.jobs_by_status),
    tasks: real(stats.tasks_by_status),
    flying: stats.tasks_in_flight,
    workers: [stats.workers_alive, stats.workers_dead],
  };
  if (isDeepStrictEqual(expected, actual)) return null;
  return `stats: expected ${JSON.stringify(expected)}, are ${JSON.stringify(actual)}`;
}
