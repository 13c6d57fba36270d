import { jobEventFor } from '../../../../../../machines/job/steps.ts';
import { noStanding, rankValuesOf, type Standing } from '../../../../../../machines/ranking/standing.ts';
import type { EventView, TaskStatus } from '../../../../../../machines/schema/views.ts';
import { type Acted, act, type Context, type MachineEvent, type Snapshot, stateId } from './act.ts';
import { deduce } from './task.ts';

export interface Party {
  kind: 'client' | 'supervisor' | 'job' | 'task' | 'worker';
  id: string;
}

/** Something that was sent to an actor. */
export interface Message {
  /** The recorded event that tells of it. */
  event: EventView;
  from: Party;
  to: Party;
  sent: MachineEvent;
  /** It left no event: it came at some time before. */
  silent: boolean;
  /** The states of who got it, of a task and a job; empty where they are not followed. */
  states: readonly string[];
  /** What it knew before and after; null where that is not followed. */
  before: Context | null;
  after: Context | null;
}

/** What does not follow from one another in what is recorded. */
export class Unexplained {
  readonly event: EventView;
  constructor(event: EventView) {
    this.event = event;
  }
}

const SUPERVISOR: Party = { kind: 'supervisor', id: 'supervisor' };
const CLIENT: Party = { kind: 'client', id: 'client' };
const QUIET = new Set(['log', 'progress']);
/** States of a job that an order to all its tasks leaves without an event when the last has been told. */
const TOLD_SILENTLY = ['requeuing', 'telling', 'reusing', 'stopping'];

/** What is known of a job and its tasks at their beginning, and never changes. */
export interface Beginning {
  job: { id: string; context: Context } | null;
  tasks: ReadonlyMap<string, Context>;
}

/**
 * A job with its tasks, made to happen again from what is recorded, by the machines that run: each task takes what its
 * recorded events tell, and what it emits is what its job and its workers are told, as in the server. Where a machine
 * does not do what is recorded, it stops: what would follow is not known.
 */
export class World {
  readonly messages: Message[] = [];
  /** Where what is recorded cannot be explained; null where all of it is. */
  fault: Unexplained | null = null;
  readonly #begins: Beginning;
  #job: Snapshot | null = null;
  readonly #tasks = new Map<string, Snapshot>();
  /** Events of the job that its machine has emitted, and that are recorded next. */
  #expected: string[] = [];

  constructor(begins: Beginning, events: readonly EventView[]) {
    this.#begins = begins;
    const loud = events.filter(({ type }) => !QUIET.has(type));
    const byTask = new Map<string, EventView[]>();
    for (const event of loud)
      if (event.task_id !== null && event.type.startsWith('task_'))
        byTask.set(event.task_id, [...(byTask.get(event.task_id) ?? []), event]);
    for (const event of loud) {
      if (this.fault) return;
      if (event.type.startsWith('job_')) this.#jobEvent(event);
      else if (event.task_id !== null && byTask.get(event.task_id)?.[0] === event)
        this.#taskEvents(event.task_id, byTask.get(event.task_id) as EventView[]);
    }
  }

  /** Where an actor stands at the end. */
  snapshot(kind: 'job' | 'task', id: string): Snapshot | null {
    if (this.fault) return null;
    return kind === 'job' ? this.#job : (this.#tasks.get(id) ?? null);
  }

  #taskEvents(id: string, waiting: EventView[]): void {
    const [event] = waiting;
    if (!event) return;
    const begin = this.#begins.tasks.get(id);
    const known = this.#tasks.get(id) ?? {
      value: 'queued',
      context: { ...FRESH_TASK, ...begin, id, job_id: event.job_id, max_attempts: event.data.max_attempts },
    };
    const deduced = deduce(known, waiting);
    if (!deduced) {
      this.#stop(event);
      return;
    }
    const recorded = waiting.splice(0, deduced.explains);
    const acted = this.#act('task', known, deduced.event);
    const said = acted?.emitted.filter(({ type }) => type.startsWith('task_')).map(({ type }) => type);
    if (!acted?.taken || said?.join() !== recorded.map(({ type }) => type).join()) {
      this.#stop(event);
      return;
    }
    const after = withUnknown(acted.after, deduced.unknown ?? []);
    this.#tasks.set(id, after);
    const states = [
      known.value,
      ...recorded.slice(0, -1).flatMap(({ type }) => (type === 'task_lost' ? ['lost'] : [])),
      after.value,
    ];
    this.#note({
      event: recorded.at(-1) ?? event,
      from: SUPERVISOR,
      to: { kind: 'task', id },
      sent: deduced.event,
      silent: deduced.silent === true,
      states: states.map((value) => stateId('task', value)),
      before: known.context,
      after: after.context,
    });
    this.#follow(id, event, known, acted, recorded);
    if (deduced.explains === 0) this.#taskEvents(id, waiting);
  }

  /** What the job and the worker of a task are told of what it emitted. */
  #follow(id: string, event: EventView, before: Snapshot, { emitted }: Acted, recorded: EventView[]): void {
    const task: Party = { kind: 'task', id };
    for (const said of emitted) {
      const worker = { kind: 'worker' as const, id: String(said.worker_id) };
      if (said.type === 'lease_started') this.#tell(event, task, worker, { type: 'TASK_TAKEN' });
      if (said.type === 'lease_ended') this.#tell(event, task, worker, { type: 'TASK_RELEASED' });
      const from = stateId('task', before.value).split('.')[1] as TaskStatus;
      const told = jobEventFor(said as never, { id, from });
      if (!told) continue;
      const last = recorded.at(-1) ?? event;
      if (this.#job) this.#tellJob(last, task, this.#withRanks(told as MachineEvent, event));
      else this.#tell(last, task, { kind: 'job', id: String(event.job_id) }, told as MachineEvent);
    }
  }

  /** The metrics that its job may rank by are those of the result, which is recorded. */
  #withRanks(told: MachineEvent, { data }: EventView): MachineEvent {
    if (told.type !== 'TASK_SUCCEEDED') return told;
    const standings = (this.#job?.context.standings ?? []) as Standing[];
    const metrics = (data.metrics ?? {}) as Record<string, unknown>;
    return { ...told, rank_others: rankValuesOf(standings, metrics).rank_others };
  }

  #jobEvent(event: EventView): void {
    const { type, data } = event;
    const begin = this.#begins.job;
    if (type === 'job_submitted' && begin) {
      this.#job = { value: { queued: data.reuse ? 'reusing' : 'ready' }, context: begin.context };
      const states = ['', stateIdOf(this.#job)];
      const sent = { type: 'submitted' };
      this.#note({
        event,
        from: CLIENT,
        to: { kind: 'job', id: begin.id },
        sent,
        silent: false,
        states,
        before: null,
        after: begin.context,
      });
      // Where nothing is known before, it waits like any other.
      return;
    }
    if (!this.#job) return;
    if (this.#expected[0] === type) {
      this.#expected.shift();
      return;
    }
    if (type === 'job_cancel_requested') {
      if (data.status === 'queued' || data.status === 'running')
        this.#tellJob(event, CLIENT, { type: 'CANCEL' });
    } else if (type === 'job_retried') this.#expect(event, { type: 'RETRY' });
    else if (type === 'job_cancelled' || type === 'job_succeeded') this.#expect(event, { type: 'BULK_DONE' });
    else this.#stop(event);
  }

  /** An event that the job emits as it takes this. */
  #expect(event: EventView, sent: MachineEvent): void {
    this.#tellJob(event, sent.type === 'RETRY' ? CLIENT : SUPERVISOR, sent, sent.type === 'BULK_DONE');
    if (!this.fault && this.#expected.shift() !== event.type) this.#stop(event);
  }

  #tellJob(event: EventView, from: Party, sent: MachineEvent, silent = false): void {
    const job = this.#job;
    const id = this.#begins.job?.id;
    if (!job || id === undefined || this.fault) return;
    const acted = this.#act('job', job, sent);
    if (!acted?.taken) {
      const told = isTelling(job) && !silent && sent.type !== 'BULK_DONE';
      if (!told) {
        this.#stop(event);
        return;
      }
      this.#tellJob(event, SUPERVISOR, { type: 'BULK_DONE' }, true);
      if (!this.fault && this.#job !== job) this.#tellJob(event, from, sent);
      return;
    }
    this.#job = acted.after;
    this.#expected.push(...acted.emitted.map(({ type }) => type));
    const states = [stateIdOf(job), stateIdOf(acted.after)];
    this.#note({
      event,
      from,
      to: { kind: 'job', id },
      sent,
      silent,
      states,
      before: job.context,
      after: acted.after.context,
    });
  }

  #tell(event: EventView, from: Party, to: Party, sent: MachineEvent): void {
    this.#note({ event, from, to, sent, silent: false, states: [], before: null, after: null });
  }

  #act(kind: 'job' | 'task', before: Snapshot, event: MachineEvent): Acted | null {
    // Of several that end it alike, one stands for all.
    const type = event.type.split(/,| or /)[0] as string;
    try {
      return act(kind, before, { ...event, type });
    } catch {
      return null;
    }
  }

  #note(message: Message): void {
    this.messages.push(message);
  }

  #stop(event: EventView): void {
    this.fault ??= new Unexplained(event);
  }
}

const isTelling = ({ value }: Snapshot): boolean =>
  TOLD_SILENTLY.includes(Object.values((value ?? {}) as Record<string, string>)[0] ?? '');

/** When the last task has been told leaves no event, so that only the status is certain until the next one. */
const stateIdOf = (job: Snapshot): string => {
  const id = stateId('job', job.value);
  return isTelling(job) ? id.split('.').slice(0, 2).join('.') : id;
};

/** Some members, and what was reckoned with one that is not known, are not known either. */
const withUnknown = ({ value, context }: Snapshot, unknown: readonly string[]): Snapshot => ({
  value,
  context: Object.fromEntries(
    Object.entries(context).map(([name, member]) => [
      name,
      unknown.includes(name) || Number.isNaN(member) ? undefined : member,
    ]),
  ),
});

/** A task as it is queued first. */
const FRESH_TASK: Context = {
  attempt: 0,
  not_before: null,
  worker_faults: 0,
  take_backs: 0,
  avoids: [],
  worker_id: null,
  lease_expires_at: null,
  started_at: null,
  error: null,
  result: null,
  reused_from: null,
  rank_value: null,
  rank_others: [],
  model_artifact_id: null,
  last_report: null,
};

/** A job as it is submitted; what of it never changes is as it is now. Null of one that selects among variants. */
export function jobAtFirst(now: Context): Context | null {
  if (now.selection !== null) return null;
  const none = { queued: 0, leased: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0, lost: 0 };
  const counts = Object.fromEntries(Object.keys((now.counts ?? none) as object).map((status) => [status, 0]));
  return {
    ...now,
    counts: { ...counts, queued: now.num_tasks },
    standings: ((now.standings ?? []) as Standing[]).map(noStanding),
    num_reused: 0,
    error: null,
  };
}
