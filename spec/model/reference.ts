import type { Act } from './acts.ts';
import { grant } from './granting.ts';
import { OPERATE } from './operate.ts';
import { TIMES } from './operations.ts';
import {
  avoid,
  cancelJob,
  endTask,
  failOrRequeue,
  giveUp,
  hear,
  isKnownRepetition,
  isTriedElsewhere,
  lookAt,
  preempt,
  requeue,
  reuse,
  tell,
} from './rules.ts';
import {
  type Answer,
  done,
  freeSlots,
  heldBy,
  holderOf,
  isHeld,
  NEVER,
  refused,
  type Task,
  tasksOf,
  type World,
} from './world.ts';

/**
 * The reference: what the specification says, written down a second time in the plainest way, without turns,
 * actors or a store. It predicts every answer, every event and every status.
 */
export function perform(world: World, act: Act): void {
  const answer = PERFORM[act.act](world, act as never);
  if (answer) world.answers[act.ticket] = answer;
}

type Of<A extends Act['act']> = Extract<Act, { act: A }>;

const PERFORM: { [A in Act['act']]: (world: World, act: Of<A>) => Answer | null } = {
  submit(world, { act: _, ticket, ...spec }) {
    const body = JSON.stringify(spec);
    const known = spec.key === null ? undefined : world.keys[spec.key];
    if (known) return known.body === body ? done({ job: known.job }) : refused(409, 'idempotency_conflict');
    const job = `J${ticket}`;
    if (spec.key !== null) world.keys[spec.key] = { job, body };
    world.jobs[job] = {
      name: job,
      status: 'queued',
      priority: spec.priority,
      retry: spec.attempts,
      looking: false,
    };
    for (let i = 0; i < spec.tasks; i++) addTask(world, job, i, spec);
    tell(world, { type: 'job_submitted', job });
    if (spec.known && spec.reuse && world.endsLate && spec.tasks > 1) world.jobs[job].looking = true;
    else if (spec.known && spec.reuse) reuseInSlices(world, job);
    return done({ job });
  },

  register(world, { ticket, slots, site, worker }) {
    const name = worker ?? `W${ticket}`;
    const earlier = world.workers[name];
    world.workers[name] = {
      name,
      alive: true,
      silentAt: world.now + TIMES.deadAfter,
      slots,
      site,
      session: (earlier?.session ?? 0) + 1,
      suspended: false,
      drained: earlier?.drained ?? false,
      lacksUntil: 0,
      revoked: [],
      doubtAt: NEVER,
      askedUntil: earlier?.askedUntil ?? 0,
    };
    supersede(world, name);
    tell(world, { type: 'worker_registered', worker: name });
    return done({ worker: name });
  },

  lease(world, { ticket, worker: name, max, wait, session }) {
    const stranger = wrongSession(world, name, session);
    if (stranger) return stranger;
    const worker = hear(world, name);
    if (max === 0) {
      withdraw(world, name);
      return done({ tasks: [] });
    }
    worker.askedUntil = world.now + wait;
    if (freeSlots(world, worker) > 0) worker.doubtAt = NEVER;
    else worker.doubtAt = Math.min(worker.doubtAt, world.now + TIMES.leaseTtl);
    world.leases.push({ ticket, worker: name, session, max, until: world.now + wait });
    return null;
  },

  report(world, { ticket, task: name, worker, verb, attempt, retriable, ill, lacks, givesBack }) {
    hear(world, worker);
    forget(world, worker, name);
    const task = world.tasks[name] as Task;
    if (isKnownRepetition(task, worker, verb, attempt)) return task.last?.answer ?? null;
    const wrong = wrongHolder(task, worker, attempt);
    if (wrong) return wrong;
    task.sign = world.now;
    const from = { worker, attempt: task.attempt, verb };
    if (verb === 'start') {
      task.status = 'running';
      if (task.limited) task.timesOut = world.now + TIMES.timeout + TIMES.timeoutGrace;
      tell(world, { type: 'task_started', task: name, worker, attempt: task.attempt });
      task.last = { ...from, answer: done({ ok: true }) };
      return task.last.answer;
    }
    if (verb === 'complete' && task.status === 'leased') return refused(409, 'illegal_transition');
    if (verb === 'fail' && givesBack && !task.stopping) {
      task.last = { ...from, answer: done({ ok: true, requeued: true }) };
      preempt(world, task);
      return task.last.answer;
    }
    if (verb === 'fail' && ill && lacks && !givesBack)
      holderOf(world, worker).lacksUntil = world.now + TIMES.missing;
    const isTried = ill ? isTriedElsewhere(world, task, worker) : task.attempt < task.maxAttempts;
    const requeued = verb === 'fail' && !task.stopping && retriable && isTried;
    task.last = { ...from, answer: done(verb === 'fail' ? { ok: true, requeued } : { ok: true }) };
    if (task.stopping) endTask(world, task, 'cancelled', { type: 'task_cancelled', worker });
    else if (verb === 'fail') {
      const free = requeued && ill && task.workerFaults < 5;
      if (requeued && ill) avoid(world, task, worker);
      failOrRequeue(world, task, requeued, free);
      if (free) task.maxAttempts++;
      if (ill) lookAt(world, task);
    } else {
      task.result = ticket;
      if (task.content !== null) world.computed[task.content] = name;
      endTask(world, task, 'succeeded', { type: 'task_completed', worker });
    }
    return task.last.answer;
  },

  progress(world, { task: name, worker }) {
    hear(world, worker);
    const task = world.tasks[name] as Task;
    const wrong = wrongHolder(task, worker, null);
    if (wrong) return wrong;
    task.sign = world.now;
    tell(world, { type: 'note', task: name, worker });
    return done({ ok: true });
  },

  beat(world, { ticket, worker: name, active, wait, session, suspended }) {
    const stranger = wrongSession(world, name, session);
    if (stranger) return stranger;
    const worker = hear(world, name);
    if (!world.storeFails) suspend(world, name, suspended);
    releaseBeat(world, name, []);
    if (active) {
      worker.revoked = [];
      worker.doubtAt = NEVER;
    }
    for (const task of heldBy(world, name)) {
      const listed = active?.some((entry) => entry.task === task.name && entry.attempt === task.attempt);
      if (listed ?? true) task.leaseEnds = world.now + TIMES.leaseTtl;
    }
    const cancel = active
      ? active.filter((entry) => !entry.stopping && mustStop(world, name, entry)).map((entry) => entry.task)
      : toStop(world, name);
    if (cancel.length > 0 || wait === 0) return done({ ok: true, cancel });
    const stopping = (active ?? []).filter((entry) => entry.stopping).map((entry) => entry.task);
    const until = world.now + Math.min(wait, TIMES.heartbeatInterval);
    world.beats.push({ ticket, worker: name, session, stopping, until });
    return null;
  },

  cancel(world, { job: name }) {
    const job = world.jobs[name] as World['jobs'][string];
    tell(world, { type: 'job_cancel_requested', job: name });
    if (job.status === 'queued' || job.status === 'running') inSlices(world, cancelJob(world, job));
    return done({ job: name, status: job.status });
  },

  retry(world, { job: name }) {
    const job = world.jobs[name] as World['jobs'][string];
    const failed = tasksOf(world, name).filter(({ status }) => status === 'failed');
    const ended = job.status === 'failed' || job.status === 'succeeded';
    if (!ended || failed.length === 0) return refused(409, 'illegal_transition');
    job.status = 'queued';
    tell(world, { type: 'job_retried', job: name });
    // Its path may be there by now.
    for (const worker of Object.values(world.workers)) worker.lacksUntil = 0;
    for (const [i, task] of failed.entries()) {
      if (i === world.diesAfter) leaveAll(world);
      task.maxAttempts += job.retry;
      task.avoids = [];
      requeue(world, task);
    }
    return done({ job: name, status: 'queued' });
  },
  ...OPERATE,
};

/** Its tasks can be leased when all of them have been looked at; one alone is in the commit that takes the job up. */
export function reuseInSlices(world: World, job: string): void {
  const tasks = tasksOf(world, job);
  for (const task of tasks) reuse(world, task);
  // A slice that finds nothing writes nothing. The last one says that the job is ready, and then leases are granted.
  const commits = 2 + tasks.slice(0, -1).filter(({ reusedFrom }) => reusedFrom !== null).length;
  if (tasks.length > 1 && world.diesAfter < commits) leaveAll(world);
}

function inSlices(world: World, slices: Generator<void>): void {
  let told = 0;
  while (!slices.next().done) {
    if (world.inSlices) settle(world);
    if (++told === world.diesAfter) leaveAll(world);
  }
}

/** Nobody waits any more. */
function leaveAll(world: World): void {
  world.leases = [];
  world.beats = [];
}

function addTask(world: World, job: string, i: number, spec: Omit<Of<'submit'>, 'act' | 'ticket'>): void {
  const name = `${job}.${i}`;
  const { priority, site, limited, patient, pinned, attempts } = spec;
  world.tasks[name] = {
    ...{ name, job, order: Object.keys(world.tasks).length, priority, site, limited, patient, pinned },
    content: spec.known ? `${i}` : null,
    ...{
      status: 'queued',
      stopping: false,
      attempt: 0,
      maxAttempts: attempts,
      worker: null,
      workerFaults: 0,
      givenBack: 0,
      avoids: [],
      looked: false,
      notBefore: null,
      waitsUntil: 0,
    },
    ...{ leaseNumber: 0, leaseEnds: NEVER, timesOut: NEVER, sign: 0, last: null, result: null },
    reusedFrom: null,
  };
}

/** Only the program that registered last may speak under a session. */
function wrongSession(world: World, name: string, session: number | null): Answer | null {
  const newest = holderOf(world, name).session;
  if (session === null || session === newest) return null;
  return session < newest ? refused(409, 'superseded') : refused(404, 'unknown_id');
}

/** What waits under an older session is refused. */
function supersede(world: World, name: string): void {
  const isOlder = (waiting: { worker: string; session: number | null }) =>
    waiting.worker === name && waiting.session !== null;
  for (const { ticket } of [...world.leases, ...world.beats].filter(isOlder)) {
    world.answers[ticket] = refused(409, 'superseded');
  }
  world.leases = world.leases.filter((lease) => !isOlder(lease));
  world.beats = world.beats.filter((beat) => !isOlder(beat));
}

function withdraw(world: World, name: string): void {
  for (const waiting of world.leases.filter((lease) => lease.worker === name)) {
    world.answers[waiting.ticket] = done({ tasks: [] });
  }
  world.leases = world.leases.filter((lease) => lease.worker !== name);
}

/** A worker that says so asks for nothing until it says otherwise. */
function suspend(world: World, name: string, suspended: boolean): void {
  const worker = holderOf(world, name);
  if (worker.suspended === suspended) return;
  worker.suspended = suspended;
  tell(world, { type: suspended ? 'worker_suspended' : 'worker_resumed', worker: name });
  if (suspended) withdraw(world, name);
}

function wrongHolder(task: Task, worker: string, attempt: number | null): Answer | null {
  if (attempt !== null && attempt !== task.attempt) return refused(409, 'stale_attempt');
  return isHeld(task) && task.worker === worker ? null : refused(409, 'not_holder');
}

function mustStop(world: World, worker: string, entry: { task: string; attempt: number }): boolean {
  const task = world.tasks[entry.task];
  const holds = task && isHeld(task) && task.worker === worker && task.attempt === entry.attempt;
  return !holds || task.stopping;
}

function toStop(world: World, worker: string): string[] {
  const stopping = heldBy(world, worker).filter((task) => task.stopping);
  return [...new Set([...stopping.map((task) => task.name), ...(world.workers[worker]?.revoked ?? [])])];
}

function forget(world: World, worker: string, task: string): void {
  const known = world.workers[worker];
  if (known) known.revoked = known.revoked.filter((name) => name !== task);
}

function releaseBeat(world: World, worker: string, cancel: string[]): void {
  for (const beat of world.beats.filter((held) => held.worker === worker)) {
    world.answers[beat.ticket] = { ...done({ ok: true, cancel }), ...(cancel.length > 0 && { first: true }) };
  }
  world.beats = world.beats.filter((held) => held.worker !== worker);
}

/** What follows from the requests served so far: leases that wait get what there is, held heartbeats their news. */
export function settle(world: World): void {
  grant(world);
  giveUp(world);
  for (const name of world.concerned.splice(0)) {
    const beat = world.beats.find((held) => held.worker === name);
    const cancel = toStop(world, name).filter((task) => !beat?.stopping.includes(task));
    if (cancel.length > 0) releaseBeat(world, name, cancel);
  }
  // A job's view is read when all this has been done.
  for (const { body } of Object.values(world.answers)) {
    if (body && 'status' in body) body.status = world.jobs[body.job as string]?.status;
  }
}

/** Requests whose time to wait is over get an empty answer. */
export function expire(world: World): void {
  for (const lease of world.leases)
    if (lease.until <= world.now) world.answers[lease.ticket] = done({ tasks: [] });
  world.leases = world.leases.filter((lease) => lease.until > world.now);
  for (const beat of world.beats)
    if (beat.until <= world.now) world.answers[beat.ticket] = done({ ok: true, cancel: [] });
  world.beats = world.beats.filter((beat) => beat.until > world.now);
}
