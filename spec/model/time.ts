import { TIMES } from './operations.ts';
import { expire, settle } from './reference.ts';
import { expireLease, tell, timeOut } from './rules.ts';
import { freeSlots, heldBy, isHeld, NEVER, type Worker, type World, wallOf } from './world.ts';

/** Lets time pass up to a second, with everything that comes due on the way. */
export function passUntil(world: World, end: number): void {
  for (let next = nextDue(world); next <= end; next = nextDue(world)) {
    world.now = Math.max(world.now, next);
    comeDue(world);
    settle(world);
    expire(world);
  }
  world.now = end;
}

function nextDue(world: World): number {
  return Math.min(
    ...Object.values(world.tasks).flatMap((task) => [
      task.leaseEnds,
      task.timesOut,
      task.waitsUntil || NEVER,
    ]),
    ...Object.values(world.workers).flatMap((worker) => [
      ...[worker.silentAt, worker.doubtAt, worker.lacksUntil || NEVER],
    ]),
    ...world.leases.map((lease) => lease.until),
    ...world.beats.map((beat) => beat.until),
    NEVER,
  );
}

function comeDue(world: World): void {
  for (const worker of Object.values(world.workers)) {
    if (worker.silentAt <= world.now) {
      worker.silentAt = NEVER;
      if (worker.alive) tell(world, { type: 'worker_dead', worker: worker.name });
      worker.alive = false;
    }
    if (worker.doubtAt <= world.now) doubt(world, worker);
  }
  for (const task of Object.values(world.tasks)) {
    if (task.leaseEnds <= world.now && isHeld(task)) expireLease(world, task);
    if (task.timesOut <= world.now && isHeld(task)) timeOut(world, task);
  }
  endWaits(world);
}

/** What waits for time as such, whether anybody could be heard in it or not. */
function endWaits(world: World): void {
  for (const task of Object.values(world.tasks)) if (task.waitsUntil <= world.now) task.waitsUntil = 0;
  for (const worker of Object.values(world.workers)) {
    if (worker.lacksUntil <= world.now) worker.lacksUntil = 0;
  }
}

/** For a whole TTL the worker has asked for work although its slots look taken: one of them is not. */
function doubt(world: World, worker: Worker): void {
  worker.doubtAt = NEVER;
  const stillAsking = worker.askedUntil >= world.now - TIMES.leaseTtl / 2;
  if (!stillAsking || freeSlots(world, worker) > 0) return;
  const [oldest] = heldBy(world, worker.name).sort((a, b) => a.sign - b.sign || a.order - b.order);
  if (oldest) expireLease(world, oldest);
}

/** Time in which nobody could be heard counts for no lease, no silence and no timeout; who waited has waited longer. */
export function standStill(world: World, seconds: number): void {
  world.now += seconds;
  for (const worker of Object.values(world.workers)) {
    worker.silentAt += seconds;
    worker.doubtAt += seconds;
    worker.askedUntil += seconds;
  }
  for (const task of Object.values(world.tasks)) {
    task.leaseEnds += seconds;
    task.timesOut += seconds;
    task.sign += seconds;
  }
  // Whose time to wait was over meanwhile is answered before anything else happens.
  expire(world);
  endWaits(world);
  settle(world);
  expire(world);
}

/** After a restart every lease and every worker starts a full period anew; who waited has gone. */
export function startAnew(world: World): void {
  world.leases = [];
  world.beats = [];
  world.leased = 0;
  for (const worker of Object.values(world.workers)) {
    worker.silentAt = worker.alive ? world.now + TIMES.deadAfter : NEVER;
    worker.revoked = [];
    worker.doubtAt = NEVER;
    worker.askedUntil = 0;
    worker.lacksUntil = 0;
  }
  for (const task of Object.values(world.tasks)) {
    task.looked = false;
    // By the wall clock, which may have been set, but never longer than any wait.
    const left = task.notBefore === null ? 0 : Math.min(TIMES.longestBackoff, task.notBefore - wallOf(world));
    task.waitsUntil = left > 0 ? world.now + left : 0;
    task.leaseNumber = 0;
    if (!isHeld(task)) continue;
    task.leaseEnds = world.now + TIMES.leaseTtl;
    task.sign = world.now;
    if (task.status === 'running' && task.limited)
      task.timesOut = world.now + TIMES.timeout + TIMES.timeoutGrace;
  }
}
