import type { LeasedTask } from '../../gateway/messages.ts';
import type { JobEvent } from '../../machines/job.ts';
import { isHeld, type TaskEvent } from '../../machines/task.ts';
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
import type { Core } from './core.ts';
import { followDeadlines } from './due.ts';
import type { Telling } from './emissions.ts';
import { type Recording, SUPERVISOR } from './inspection.ts';
import type { ParkedLease } from './parking.ts';
import type { Moved, Routes } from './reactions.ts';
import { Pins } from './registry.ts';
import { SealedTurn } from './sealed.ts';
import { TurnCounts } from './tally.ts';

/** A job that was submitted under an idempotency key, and what it means. */
export interface KeyedJob {
  job_id: string;
  /** Hashed; null for a job of an earlier version, which is known by its text. */
  meaning: string | null;
  request: string | null;
}

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
  /** By how much the counters change. */
  readonly counts = new TurnCounts();
  /** Whether it writes nothing: it is over at once, and no actor takes an event, as long as the store cannot commit. */
  readonly inMemory: boolean;
  readonly #routes: Routes<Turn>;
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

  constructor(core: Core, routes: Routes<Turn>, earlier: Turn | null = null, inMemory = false) {
    this.core = core;
    this.#routes = routes;
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
    if (event.type !== 'CANCEL' && event.type !== 'RETRY') this.#routes.ahead(this, task);
    return this.#tell(task, event, SUPERVISOR, this.#routes.task);
  }

  /** @param source the actor that tells it */
  tellJob(job: JobAddress, event: JobEvent, source = SUPERVISOR): boolean {
    return this.#tell(job, event, source, this.#routes.job);
  }

  /** @param source the actor that tells it */
  tellWorker(worker: WorkerAddress, event: WorkerEvent, source = SUPERVISOR): boolean {
    return this.#tell(worker, event, source, this.#routes.worker);
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
    this.#route(this.#routes.job, job, { type: 'moved', from: null, to: row.status }, row);
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
    this.#route(this.#routes.task, task, { type: 'moved', from: null, to: row.status }, row);
    return task;
  }

  addWorker(row: WorkerRow): WorkerAddress {
    const worker = this.core.registry.addWorker(this.pins, row, false);
    this.workers.add(worker);
    this.#route(this.#routes.worker, worker, { type: 'moved', from: null, to: row.status }, row);
    return worker;
  }

  /** Whether the store does not have its lease yet: whatever comes due now is about an earlier one. */
  isLeasedAnew(task: TaskAddress): boolean {
    return this.leased.has(task) || (task.sealed !== null && this.#earlier?.leased.has(task) === true);
  }

  /** Takes nothing more: what it did can be written. The turn before it has been written by now. */
  seal(): SealedTurn {
    this.#earlier = null;
    // With a free slot nothing is doubtful.
    for (const worker of this.workers) {
      const { slots_used, slots_total } = worker.row;
      if (slots_used < slots_total && worker.facts.doubtAt !== null) worker.note(this, { doubtAt: null });
    }
    for (const worker of this.concerned) this.#toStop.set(worker, worker.toStop);
    for (const address of [...this.core.unwritten, ...this.dated, ...this.tasks]) this.#date(address);
    this.#sealed = new SealedTurn(this.core.tally, this, {
      requirements: this.requirements,
      job_requests: [...this.#requests].map(([job_id, request]) => ({ job_id, request })),
      variants: this.variants,
      choices: this.choices,
      computed: this.computed,
      artifacts: this.artifacts,
      task_artifacts: this.taskArtifacts,
      events: this.events,
    });
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
    for (const [worker, ids] of this.#toStop) core.parking.tellStop(worker.id, ids);
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

  /** What the actor says has happened is followed at once; false when its state does not take the event. */
  #tell<Event extends { type: string }, Said extends { type: string }, Row extends { status: string }>(
    cell: AnyAddress & { row: Row; send(journal: AddressJournal, event: Event): Said[] | null },
    event: Event,
    source: string,
    table: object,
  ): boolean {
    if (this.inMemory) return false;
    this.#announce(cell);
    const before = cell.row;
    const emissions = cell.send(this, event);
    this.recording?.event(cell, event, source);
    if (!emissions) return false;
    for (const said of emissions) this.#route(table, cell, said, before);
    const { status } = cell.row;
    if (status !== before.status)
      this.#route(table, cell, { type: 'moved', from: before.status, to: status }, before);
    return true;
  }

  #route(table: object, cell: AnyAddress, said: { type: string } | Moved, before: object): void {
    const reactions = (table as Record<string, ((...args: unknown[]) => void)[]>)[said.type] ?? [];
    for (const react of reactions) react(this, cell, said, before);
  }
}
