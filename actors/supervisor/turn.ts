import type { LeasedTask } from '../../gateway/messages.ts';
import { type JobEvent, jobEventFor } from '../../machines/job.ts';
import type { TaskEmission, TaskEvent } from '../../machines/task.ts';
import type { WorkerEvent } from '../../machines/worker.ts';
import type {
  ArtifactRow,
  EventRow,
  JobRow,
  MinuteRow,
  RequirementRow,
  TaskArtifactRow,
  TaskRow,
} from '../store/rows.ts';
import type { Changes } from '../store/store.ts';
import type { JobAddress, TaskAddress, WorkerAddress } from './address.ts';
import type { Core } from './core.ts';
import { type Telling, tellJob, tellTask, tellWorker } from './emissions.ts';
import { type Recording, SUPERVISOR } from './inspection.ts';
import type { ParkedLease } from './parking.ts';
import { isHeld } from './registry.ts';
import { type Added, Tally } from './tally.ts';

/**
 * One turn: what it touched, what it will write, and how to undo what it did in memory. Nothing of it is
 * visible outside before the commit; if that fails, `rollback` leaves everything as if it had not been.
 */
export class Turn {
  readonly core: Core;
  /** Seconds since the epoch, one value for the whole turn. */
  readonly now: number;
  readonly jobs = new Set<JobAddress>();
  readonly tasks = new Set<TaskAddress>();
  readonly workers = new Set<WorkerAddress>();
  readonly requests = new Map<string, string>();
  readonly events: EventRow[] = [];
  readonly artifacts: ArtifactRow[] = [];
  readonly taskArtifacts: TaskArtifactRow[] = [];
  /** New jobs by owner and idempotency key. */
  readonly keys = new Map<string, { job_id: string; request: string }>();
  /** Workers whose parked leases should be looked at: a slot came free, or they are new. */
  readonly woken = new Set<string>();
  /** Leases granted in this turn, to be handed out after the commit. */
  readonly grants: { parked: ParkedLease; tasks: LeasedTask[] }[] = [];
  /** Whether a task became queued. */
  queuedAny = false;
  /** What the actors do, for those who watch; null while nobody does. */
  readonly recording: Recording | null;
  readonly #requirements: RequirementRow[] = [];
  readonly #undo: (() => void)[] = [];
  readonly #firstEvent: number;

  constructor(core: Core) {
    this.core = core;
    this.now = Math.round(core.clock.now() * 1000) / 1000;
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

  /** Registers how to take back a change in memory. */
  onRollback(undo: () => void): void {
    this.#undo.push(undo);
  }

  tellTask(task: TaskAddress, event: TaskEvent): boolean {
    const before = task.row;
    this.#announce(task);
    const emissions = task.send(event);
    this.recording?.event(task, event, SUPERVISOR);
    if (!emissions) return false;
    this.#touchTask(task);
    for (const emission of emissions) this.#routeTask(task, emission, before.worker_id);
    this.#routeSlot(before, task.row);
    if (task.row.status === 'queued' && before.status !== 'queued') this.enqueue(task);
    return true;
  }

  /** @param source the actor that tells it */
  tellJob(job: JobAddress, event: JobEvent, source = SUPERVISOR): boolean {
    this.#announce(job);
    const emissions = job.send(event);
    this.recording?.event(job, event, source);
    if (!emissions) return false;
    job.row = { ...job.row, updated_at: this.now };
    this.jobs.add(job);
    for (const emission of emissions) this.event({ job_id: job.id }, tellJob(job.row, emission));
    return true;
  }

  /** @param source the actor that tells it */
  tellWorker(worker: WorkerAddress, event: WorkerEvent, source = SUPERVISOR): boolean {
    this.#announce(worker);
    const emissions = worker.send(event);
    this.recording?.event(worker, event, source);
    if (!emissions) return false;
    this.workers.add(worker);
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
    const job = this.core.registry.addJob(row, false);
    this.jobs.add(job);
    this.recording?.actor(job);
    this.requests.set(row.id, request);
    return job;
  }

  addTask(row: TaskRow): TaskAddress {
    const task = this.core.registry.addTask(row, false);
    this.tasks.add(task);
    this.enqueue(task);
    return task;
  }

  /** Puts a queued task into the index, from where this very turn may lease it. */
  enqueue({ row }: TaskAddress): void {
    this.core.queue.add(row.requirement_id, row.priority, row.seq);
    this.queuedAny = true;
  }

  requirement(row: RequirementRow): void {
    this.#requirements.push(row);
    this.onRollback(() => this.core.requirements.forget(row));
  }

  /** A creation time larger than that of every job before. */
  createdAt(): number {
    const { sequences } = this.core;
    // Microseconds, which a double and SQLite's text conversion both keep exactly.
    const next = Math.max(this.now, Math.round(sequences.lastCreatedAt * 1e6 + 1) / 1e6);
    sequences.lastCreatedAt = next;
    return next;
  }

  changes(): Changes {
    const { registry, moved } = this.core;
    for (const id of moved.workers) {
      const worker = registry.workers.get(id);
      if (worker) this.workers.add(worker);
    }
    for (const id of moved.tasks) {
      const task = registry.tasks.get(id);
      if (task) this.tasks.add(task);
    }
    for (const task of this.tasks) this.#dateLease(task);
    return {
      requirements: this.#requirements,
      new_jobs: rowsOf(this.jobs, isNew),
      changed_jobs: rowsOf(this.jobs, isStored),
      job_requests: [...this.requests].map(([job_id, request]) => ({ job_id, request })),
      new_tasks: rowsOf(this.tasks, isNew),
      changed_tasks: rowsOf(this.tasks, isStored),
      workers: [...this.workers].map((worker) => worker.row),
      artifacts: this.artifacts,
      task_artifacts: this.taskArtifacts,
      events: this.events,
      minutes: [this.#minute()],
    };
  }

  /** Makes the turn the new truth, after its commit. */
  accept(): void {
    const { registry, tally, moved } = this.core;
    tally.minute = this.#minute();
    for (const job of this.jobs) {
      Tally.move(tally.jobs, job.committed?.status, job.row.status);
      job.settle();
    }
    for (const task of this.tasks) {
      Tally.move(tally.tasks, task.committed?.status, task.row.status);
      registry.noteHolder(task, task.committed);
      task.settle();
    }
    for (const worker of this.workers) {
      Tally.move(tally.workers, worker.committed?.status, worker.row.status);
      worker.settle();
    }
    moved.workers.clear();
    moved.tasks.clear();
  }

  rollback(): void {
    const { registry, sequences } = this.core;
    for (const job of this.jobs) if (!job.fallBack()) registry.jobs.delete(job.id);
    for (const task of this.tasks) if (!task.fallBack()) registry.tasks.delete(task.id);
    for (const worker of this.workers) if (!worker.fallBack()) registry.workers.delete(worker.id);
    for (const undo of this.#undo.reverse()) undo();
    // Event ids stay without gaps. Numbers of jobs and tasks are not used again: the index may still hold them.
    sequences.event = this.#firstEvent;
  }

  /** Those who watch hear of an actor before they hear what it did. */
  #announce(address: JobAddress | TaskAddress | WorkerAddress): void {
    if (this.recording && this.core.registry.hasArrived(address)) this.recording.actor(address);
  }

  /** What heartbeats moved in memory reaches the row here, with the commit that happens to be next. */
  #dateLease(task: TaskAddress): void {
    const left = this.core.deadlines.left(`lease:${task.id}`);
    if (left !== null && isHeld(task.row)) task.row = { ...task.row, lease_expires_at: this.now + left };
  }

  #touchTask(task: TaskAddress): void {
    task.row = { ...task.row, updated_at: this.now };
    this.tasks.add(task);
  }

  /** The routing table at work: the event that clients see, then what the job is told. */
  #routeTask(task: TaskAddress, emission: TaskEmission, workerBefore: string | null): void {
    const worker_id = task.row.worker_id ?? workerBefore;
    this.event({ job_id: task.row.job_id, task_id: task.id, worker_id }, tellTask(task.row, emission));
    const told = jobEventFor(task.id, emission);
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

  #minute(): MinuteRow {
    return this.core.tally.minuteWith(this.now, this.#added());
  }

  #added(): Added {
    const added = { submitted: 0, started: 0, succeeded: 0, failed: 0, queued: 0, workers_alive: 0 };
    for (const { row, committed } of this.tasks) {
      const before = committed?.status;
      if (before === undefined) added.submitted++;
      if (row.status === before) continue;
      if (row.status === 'running') added.started++;
      if (row.status === 'succeeded') added.succeeded++;
      if (row.status === 'failed') added.failed++;
      added.queued += Number(row.status === 'queued') - Number(before === 'queued');
    }
    for (const { row, committed } of this.workers) {
      added.workers_alive += Number(row.status === 'alive') - Number(committed?.status === 'alive');
    }
    return added;
  }
}

const isNew = (address: { committed: unknown }): boolean => address.committed === null;
const isStored = (address: { committed: unknown }): boolean => !isNew(address);

function rowsOf<Row>(
  addresses: Iterable<{ row: Row; committed: Row | null }>,
  which: (address: { committed: unknown }) => boolean,
): Row[] {
  return [...addresses].filter(which).map((address) => address.row);
}
