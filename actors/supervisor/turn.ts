import type { LeasedTask } from '../../gateway/messages.ts';
import { type JobEvent, jobEventFor } from '../../machines/job.ts';
import type { TaskEmission, TaskEvent } from '../../machines/task.ts';
import type { FoundVariants } from '../../machines/variants.ts';
import type { WorkerEvent } from '../../machines/worker.ts';
import type {
  ArtifactRow,
  ChoiceRow,
  ComputedRow,
  EventRow,
  JobRow,
  RequirementRow,
  TaskArtifactRow,
  TaskRow,
  VariantsRow,
  WorkerRow,
} from '../store/rows.ts';
import { type AddressJournal, type AnyAddress, JobAddress, TaskAddress, WorkerAddress } from './address.ts';
import { followTask, tellHeldBack } from './consequences.ts';
import type { Core } from './core.ts';
import { type Telling, tellJob, tellTask, tellWorker, wantsRefit } from './emissions.ts';
import { type Recording, SUPERVISOR } from './inspection.ts';
import type { ParkedLease } from './parking.ts';
import { followDeadlines } from './passing.ts';
import { dequeue, enqueue } from './queueing.ts';
import { hasEnded, isHeld, Pins } from './registry.ts';
import { SealedTurn } from './sealed.ts';
import { tellAhead } from './telling.ts';
import type { KeyedJob } from './verb.ts';

/**
 * One turn: what it touched, what it will write, and how to undo what it did in memory. Nothing of it is
 * visible outside before the commit; if that fails, `rollback` leaves everything as if it had not been. A turn may
 * begin while the one before it is being written; then it is undone first.
 */
export class Turn implements AddressJournal {
  readonly core: Core;
  /** Seconds since the epoch, one value for the whole turn. */
  readonly now: number;
  /** Second of the hearing clock. */
  readonly begunAt: number;
  /** What it needs in memory. */
  readonly pins = new Pins();
  readonly jobs = new Set<JobAddress>();
  readonly tasks = new Set<TaskAddress>();
  readonly workers = new Set<WorkerAddress>();
  readonly events: EventRow[] = [];
  readonly artifacts: ArtifactRow[] = [];
  readonly taskArtifacts: TaskArtifactRow[] = [];
  readonly requirements: RequirementRow[] = [];
  readonly variants: VariantsRow[] = [];
  readonly choices: ChoiceRow[] = [];
  readonly computed: ComputedRow[] = [];
  /** Tasks that were leased in this turn; a lease that was returned in it may have been the same attempt. */
  readonly leased = new Set<TaskAddress>();
  /** Workers whose parked leases should be looked at: a slot came free, or they are new. */
  readonly woken = new Set<string>();
  /** Workers and tasks whose times have moved; it is no reason to write anything. */
  readonly dated = new Set<WorkerAddress | TaskAddress>();
  /** Workers that may have to stop something that they were not told of. */
  readonly concerned = new Set<WorkerAddress>();
  /** Leases granted in this turn, to be handed out after the commit. */
  readonly grants: { parked: ParkedLease; tasks: LeasedTask[]; handedOut: (() => void)[] }[] = [];
  /** What else is said once the turn is durable. */
  readonly toSay: (() => void)[] = [];
  /** Whether there is more to grant, in the next turn. */
  isMore = false;
  /** Tasks that were told what a person wished; a turn has time for so many. */
  told = 0;
  /** Jobs in which a variant was selected that is to be refitted: a task for that is still to be queued. */
  readonly selecting = new Set<JobAddress>();
  /** Jobs with what has been found in their pipelines: tasks for these are still to be queued. */
  readonly expanded = new Map<JobAddress, FoundVariants>();
  /** Whether a task became queued. */
  queuedAny = false;
  /** Whether a worker fell away for tasks that wait, so that none may be left for some. */
  judge = false;
  /** What the actors do, for those who watch; null while nobody does. */
  readonly recording: Recording | null;
  /** Whether it writes nothing: it is over at once, and no actor takes an event, as long as the store cannot commit. */
  readonly inMemory: boolean;
  readonly #requests = new Map<string, string>();
  /** New jobs by owner and idempotency key. */
  readonly #keys = new Map<string, KeyedJob>();
  readonly #undo: (() => void)[] = [];
  readonly #noted = new Set<AnyAddress>();
  /** What the concerned workers have to stop, as this turn leaves it. */
  readonly #toStop = new Map<WorkerAddress, string[]>();
  readonly #firstEvent: number;
  /** The turn that was being written when this one began: the store may not show yet what it did. */
  #earlier: Turn | null;
  #sealed: SealedTurn | null = null;

  constructor(core: Core, earlier: Turn | null = null, inMemory = false) {
    this.core = core;
    this.#earlier = earlier;
    this.inMemory = inMemory;
    this.now = Math.round(core.clock.now() * 1000) / 1000;
    this.begunAt = core.hearing.monotonic();
    this.#firstEvent = core.sequences.event;
    this.recording = core.inspection.begin(this.now);
  }

  /** Whether there is anything that must be durable before somebody is answered. */
  get isEmpty(): boolean {
    return (
      this.events.length === 0 &&
      this.jobs.size === 0 &&
      this.tasks.size === 0 &&
      this.workers.size === 0 &&
      this.artifacts.length === 0
    );
  }

  changed(address: AnyAddress): void {
    if (this.inMemory) throw new Error(`a turn that writes nothing cannot change ${address.id}`);
    if (address instanceof TaskAddress) this.tasks.add(this.pins.task(address));
    else if (address instanceof JobAddress) this.jobs.add(this.pins.job(address));
    else this.workers.add(this.pins.worker(address));
  }

  noted(address: AnyAddress): void {
    if (address instanceof WorkerAddress) this.pins.worker(address);
    this.#noted.add(address);
  }

  onRollback(undo: () => void): void {
    this.#undo.push(undo);
  }

  /** Registers what is said to somebody who waits, once the turn is durable. */
  afterCommit(say: () => void): void {
    this.toSay.push(say);
  }

  tellTask(task: TaskAddress, event: TaskEvent): boolean {
    if (this.inMemory) return false;
    if (event.type !== 'CANCEL' && event.type !== 'RETRY') tellAhead(this, task);
    const before = task.row;
    this.#announce(task);
    const emissions = task.send(this, event);
    this.recording?.event(task, event, SUPERVISOR);
    if (!emissions) return false;
    followTask(this, task, before, event);
    for (const emission of emissions) this.#routeTask(task, emission, before.worker_id);
    this.#routeSlot(before, task.row);
    if (task.row.status === 'queued' && before.status !== 'queued') enqueue(this, task);
    if (before.status === 'queued' && hasEnded(task.row)) dequeue(this, task);
    return true;
  }

  /** @param source the actor that tells it */
  tellJob(job: JobAddress, event: JobEvent, source = SUPERVISOR): boolean {
    if (this.inMemory) return false;
    this.#announce(job);
    const emissions = job.send(this, event);
    this.recording?.event(job, event, source);
    if (!emissions) return false;
    for (const emission of emissions) this.event({ job_id: job.id }, tellJob(job.row, emission));
    if (emissions.some(wantsRefit)) this.selecting.add(job);
    return true;
  }

  /** @param source the actor that tells it */
  tellWorker(worker: WorkerAddress, event: WorkerEvent, source = SUPERVISOR): boolean {
    if (this.inMemory) return false;
    this.#announce(worker);
    const emissions = worker.send(this, event);
    this.recording?.event(worker, event, source);
    if (!emissions) return false;
    for (const emission of emissions) this.event({ worker_id: worker.id }, tellWorker(worker.row, emission));
    return true;
  }

  /** Records an event; it gets its id and its time here. */
  event(
    about: { job_id?: string | null; task_id?: string | null; worker_id?: string | null },
    telling: Telling,
  ): void {
    this.events.push({
      id: this.core.sequences.event++,
      job_id: about.job_id ?? null,
      task_id: about.task_id ?? null,
      worker_id: about.worker_id ?? null,
      ts: this.now,
      ...telling,
    });
  }

  addJob(row: JobRow, request: string): JobAddress {
    const job = this.core.registry.addJob(this.pins, row, false);
    this.jobs.add(job);
    this.recording?.actor(job);
    this.#requests.set(row.id, request);
    return job;
  }

  /** The specification of a job that is too new to be read from the store. */
  requestOf(jobId: string): string | undefined {
    return this.#requests.get(jobId) ?? this.#earlier?.requestOf(jobId);
  }

  /** What was found in the pipeline of a job, where that is too new to be read from the store. */
  variantsOf(jobId: string): string | undefined {
    const own = this.variants.find(({ job_id }) => job_id === jobId);
    return own?.variants ?? this.#earlier?.variantsOf(jobId);
  }

  /** @param key of `keyOf` */
  keepKey(key: string, job: KeyedJob): void {
    this.#keys.set(key, job);
  }

  /** The job under a key that is too new to be read from the store. */
  jobUnder(key: string): KeyedJob | undefined {
    return this.#keys.get(key) ?? this.#earlier?.jobUnder(key);
  }

  addTask(row: TaskRow): TaskAddress {
    const task = this.core.registry.addTask(this.pins, row, false);
    this.tasks.add(task);
    enqueue(this, task);
    return task;
  }

  addWorker(row: WorkerRow): WorkerAddress {
    const worker = this.core.registry.addWorker(this.pins, row, false);
    this.changed(worker);
    return worker;
  }

  /** Whether the store does not have its lease yet: whatever comes due now is about an earlier one. */
  isLeasedAnew(task: TaskAddress): boolean {
    return this.leased.has(task) || (task.sealed !== null && this.#earlier?.leased.has(task) === true);
  }

  /** The tasks that a worker holds, but for those whose lease is not durable yet. */
  heldBy(worker: WorkerAddress): TaskAddress[] {
    const { held, tasks } = this.core.registry;
    const ids = [...(held.get(worker.id) ?? [])];
    return ids.flatMap((id) => {
      const task = tasks.get(id);
      return task && isHeld(task.row) && task.row.worker_id === worker.id ? [task] : [];
    });
  }

  /** What a worker must stop that it was not asked about: for its job or its timeout, or taken from it. */
  toldToStop(worker: WorkerAddress): string[] {
    const stopping = this.heldBy(worker).filter((task) => task.row.state === 'stopping');
    return [...new Set([...stopping.map((task) => task.id), ...worker.revoked])];
  }

  /** Takes nothing more: what it did can be written. The turn before it has been written by now. */
  seal(): SealedTurn {
    this.#earlier = null;
    // With a free slot nothing is doubtful.
    for (const worker of this.workers) {
      const { slots_used, slots_total } = worker.row;
      if (slots_used < slots_total && worker.facts.doubtAt !== null) worker.note(this, { doubtAt: null });
    }
    for (const worker of this.concerned) this.#toStop.set(worker, this.toldToStop(worker));
    for (const address of [...this.core.unwritten, ...this.dated, ...this.tasks]) this.#date(address);
    this.#sealed = new SealedTurn(
      this.core,
      this,
      {
        requirements: this.requirements,
        job_requests: [...this.#requests].map(([job_id, request]) => ({ job_id, request })),
        variants: this.variants,
        choices: this.choices,
        computed: this.computed,
        artifacts: this.artifacts,
        task_artifacts: this.taskArtifacts,
        events: this.events,
      },
      this.now,
    );
    return this.#sealed;
  }

  /** What is written of it; null while it is open, or when there was nothing to write. */
  get sealed(): SealedTurn | null {
    return this.#sealed;
  }

  /** It is durable, or had nothing to write: it can no longer be undone. */
  accept(): void {
    const { core } = this;
    this.#sealed?.accept();
    if (this.#sealed) for (const address of [...this.workers, ...this.tasks]) core.unwritten.delete(address);
    else for (const address of this.dated) core.unwritten.add(address);
    followDeadlines(core, this.#noted);
    for (const [worker, ids] of this.#toStop) tellHeldBack(core.parking, worker, ids);
  }

  rollback(): void {
    const { registry, sequences, hearing, settings } = this.core;
    this.#sealed?.takeBack();
    for (const job of this.jobs) if (!job.fallBack()) registry.removeJob(job);
    for (const task of this.tasks) if (!task.fallBack()) registry.removeTask(task);
    for (const worker of this.workers) if (!worker.fallBack()) registry.removeWorker(worker);
    for (const undo of this.#undo.reverse()) undo();
    // Event ids stay without gaps; numbers of jobs and tasks are not used again.
    sequences.event = this.#firstEvent;
    // What is overdue comes back a moment later, since the store that failed is not likely to work at once.
    followDeadlines(this.core, this.#noted, hearing.monotonic() + settings.probeInterval);
    registry.letGo(this.pins);
  }

  /** Those who watch hear of an actor before they hear what it did. */
  #announce(address: AnyAddress): void {
    if (this.recording && this.pins.arrived.has(address)) this.recording.actor(address);
  }

  /** What heartbeats moved in memory reaches the row here, with the commit that happens to be next. */
  #date(address: WorkerAddress | TaskAddress): void {
    const { registry, hearing } = this.core;
    // Of very many tasks that a turn touches, few have a lease.
    if (address instanceof TaskAddress && address.facts.leaseEndsAt === null) return;
    if (registry.find(address.id) !== address) return;
    if (address instanceof WorkerAddress) {
      address.amend(this, { last_seen_at: address.facts.lastSeenAt });
      return;
    }
    const { leaseEndsAt } = address.facts;
    if (leaseEndsAt === null || !isHeld(address.row)) return;
    address.amend(this, { lease_expires_at: this.now + leaseEndsAt - hearing.monotonic() });
  }

  /** The routing table at work: the event that clients see, then what the job is told. */
  #routeTask(task: TaskAddress, emission: TaskEmission, workerBefore: string | null): void {
    const worker_id = task.row.worker_id ?? workerBefore;
    this.event({ job_id: task.row.job_id, task_id: task.id, worker_id }, tellTask(task.row, emission));
    const told = jobEventFor(task.id, emission, task.row.payload);
    if (told) this.tellJob(this.core.registry.job(task.row.job_id), told, task.id);
  }

  /** A worker is told when a task takes or frees one of its slots. */
  #routeSlot(before: TaskRow, after: TaskRow): void {
    if (isHeld(before) === isHeld(after)) return;
    const id = isHeld(after) ? after.worker_id : before.worker_id;
    const worker = id === null ? undefined : this.core.registry.workers.get(id);
    if (!worker) return;
    this.tellWorker(worker, { type: isHeld(after) ? 'TASK_TAKEN' : 'TASK_RELEASED' }, after.id);
    if (!isHeld(after)) this.woken.add(worker.id);
  }
}
