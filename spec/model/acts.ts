import type { Beat, Operate, Report, Request, Scope, SessionKind } from './operations.ts';
import { isHeld, namesPath, type World } from './world.ts';

/** A request with everything in it named, so that it means the same whenever it is served. */
export type Act =
  | {
      act: 'submit';
      ticket: number;
      tasks: number;
      priority: number;
      attempts: number;
      site: string | null;
      limited: boolean;
      patient: boolean;
      key: number | null;
      known: boolean;
      reuse: boolean;
      pinned: boolean;
    }
  | { act: 'register'; ticket: number; slots: number; site: string; worker: string | null }
  | { act: 'lease'; ticket: number; worker: string; max: number; wait: number; session: number | null }
  | {
      act: 'report';
      ticket: number;
      task: string;
      worker: string;
      verb: 'start' | 'complete' | 'fail';
      attempt: number | null;
      retriable: boolean;
      ill: boolean;
      lacks: boolean;
      givesBack: boolean;
    }
  | { act: 'progress'; ticket: number; task: string; worker: string }
  | {
      act: 'beat';
      ticket: number;
      worker: string;
      active: { task: string; attempt: number; stopping: boolean }[] | null;
      wait: number;
      session: number | null;
      suspended: boolean;
    }
  | { act: 'cancel' | 'retry'; ticket: number; job: string }
  | { act: 'pause' | 'resume'; ticket: number; scope: Scope }
  | { act: 'priority'; ticket: number; job: string; priority: number }
  | { act: 'drain' | 'undrain'; ticket: number; worker: string };

const pick = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(1, list.length)];

/** Names what a request is about, as the world is now; null when there is nothing that it could be about. */
export function nameIt(world: World, request: Request, ticket: number): Act | null {
  switch (request.op) {
    case 'submit': {
      const { op: _, ...rest } = request;
      return { act: 'submit', ticket, ...rest };
    }
    case 'register': {
      const { slots, site, again } = request;
      const worker = again === null ? null : (pick(Object.keys(world.workers), again) ?? null);
      return { act: 'register', ticket, slots, site, worker };
    }
    case 'lease': {
      const worker = pick(Object.keys(world.workers), request.worker);
      if (worker === undefined) return null;
      const { max, wait } = request;
      return { act: 'lease', ticket, worker, max, wait, session: sessionOf(world, worker, request.session) };
    }
    case 'progress':
      return nameProgress(world, request, ticket);
    case 'report':
      return nameReport(world, request, ticket);
    case 'beat':
      return nameBeat(world, request, ticket);
    case 'cancel':
    case 'retry': {
      const job = pick(Object.keys(world.jobs), request.job);
      return job === undefined ? null : { act: request.op, ticket, job };
    }
    default:
      return nameOperate(world, request, ticket);
  }
}

function nameOperate(world: World, request: Operate, ticket: number): Act | null {
  switch (request.op) {
    case 'pause':
      return { act: 'pause', ticket, scope: request.scope };
    case 'resume':
      return { act: 'resume', ticket, scope: request.scope ?? world.paused[0] ?? 'all' };
    case 'priority': {
      const job = pick(Object.keys(world.jobs), request.job);
      return job === undefined ? null : { act: 'priority', ticket, job, priority: request.priority };
    }
    default: {
      const workers = Object.values(world.workers);
      const drained = workers.filter((worker) => worker.drained);
      const among = request.op === 'undrain' && drained.length > 0 ? drained : workers;
      const worker = pick(among, request.worker)?.name;
      return worker === undefined ? null : { act: request.op, ticket, worker };
    }
  }
}

function sessionOf(world: World, worker: string, kind: SessionKind): number | null {
  const newest = world.workers[worker]?.session ?? 0;
  return { none: null, newest, older: newest - 1, ahead: newest + 1 }[kind];
}

function whoAndWhat(world: World, taskNumber: number, by: number | null) {
  const open = Object.values(world.tasks).filter((task) => task.attempt > 0);
  // Mostly about tasks that a worker holds: the others are refused, which is soon seen.
  const held = open.filter(isHeld);
  const task = pick(taskNumber % 4 > 0 && held.length > 0 ? held : open, taskNumber);
  if (!task) return null;
  const worker = by === null ? (task.worker ?? task.last?.worker) : pick(Object.keys(world.workers), by);
  return worker === undefined || worker === null ? null : { task, worker };
}

function nameReport(
  world: World,
  { task: n, verb, by, attempt, retriable, ill, lacks, givesBack }: Report,
  ticket: number,
): Act | null {
  const found = whoAndWhat(world, n, by);
  if (!found) return null;
  const { task, worker } = found;
  const attempts = {
    right: task.attempt,
    stale: Math.max(0, task.attempt - 1),
    ahead: task.attempt + 1,
    none: null,
  };
  return {
    ...{ act: 'report', ticket, task: task.name, worker, verb },
    ...{ attempt: attempts[attempt], retriable, ill, lacks: lacks && namesPath(task), givesBack },
  };
}

function nameProgress(
  world: World,
  request: { task: number; by: number | null },
  ticket: number,
): Act | null {
  const found = whoAndWhat(world, request.task, request.by);
  return found && { act: 'progress', ticket, task: found.task.name, worker: found.worker };
}

function nameBeat(world: World, request: Beat, ticket: number): Act | null {
  const { worker: n, active: how, wait, suspended } = request;
  const worker = pick(Object.keys(world.workers), n);
  if (worker === undefined) return null;
  const held = Object.values(world.tasks).filter((task) => isHeld(task) && task.worker === worker);
  const listed = held.map((task) => ({ task: task.name, attempt: task.attempt, stopping: false }));
  // What it no longer holds, or never did.
  const others = Object.values(world.tasks)
    .filter((task) => task.worker !== worker)
    .slice(0, 1)
    .map((task) => ({ task: task.name, attempt: task.attempt, stopping: false }));
  const lists = {
    all: listed,
    none: [],
    first: listed.slice(0, 1),
    stale: [...listed.map((entry) => ({ ...entry, attempt: entry.attempt - 1 })), ...others],
    stopping: [...listed.map((entry) => ({ ...entry, stopping: true })), ...others],
  };
  const session = sessionOf(world, worker, request.session);
  return { act: 'beat', ticket, worker, active: how === null ? null : lists[how], wait, session, suspended };
}
