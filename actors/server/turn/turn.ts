import type { LeasedTask } from '../../../gateway/messages.ts';
import type { JobEvent } from '../../../machines/job/job.ts';
import type { FoundVariants } from '../../../machines/report/variants.ts';
import type { TaskEvent } from '../../../machines/task/task.ts';
import type { WorkerEvent } from '../../../machines/worker/worker.ts';
import type { IdKind } from '../../shared/ids.ts';
import type { Core } from '../core.ts';
import { TurnCounts } from '../counters.ts';
import { type AnyCell, type CellJournal, JobCell, TaskCell, WorkerCell } from '../runtime/actor-cell.ts';
import { References } from '../runtime/actor-directory.ts';
import { followDeadlines } from '../runtime/arm-deadlines.ts';
import { type Recording, SUPERVISOR } from '../runtime/inspection.ts';
import type { WaitingLease } from '../scheduling/long-polls.ts';
import type { Statement } from '../store/changes.ts';
import type {
  ArtifactRow,
  ChoiceRow,
  ComputedRow,
  EventRow,
  JobInputRow,
  JobRow,
  NotificationRow,
  PauseRow,
  RequirementRow,
  TaskArtifactRow,
  TaskRow,
  VariantsRow,
  WorkerRow,
} from '../store/rows.ts';
import type { Envelope } from './envelope.ts';
import type { EventDraft } from './event-drafts.ts';
import type { Moved, ReactionTable } from './reactions.ts';

/** A job that was submitted under an idempotency key, and what it means. */
export interface KeyedJob {
  job_id: string;
  /** Hashed; null for a job of an earlier version, which is known by its text. */
  meaning: string | null;
  request: string | null;
}

/**
 * One turn: what it touched, what it will write, and how to undo what it did in memory. Nothing of it is
 * visible outside before the commit; if that fails, `rollback` leaves everything as if it had not been.
 */
export class Turn implements CellJournal {
  readonly core: Core;
  /** Seconds since the epoch, one value for the whole turn. */
  readonly now: number;
  /** What it needs in memory. */
  readonly references = new References();
  readonly jobs = new Set<JobCell>();
  readonly tasks = new Set<TaskCell>();
  readonly workers = new Set<WorkerCell>();
  readonly events: EventRow[] = [];
  /** What the receiver of notifications is to be told. */
  readonly notifications: NotificationRow[] = [];
  /** The specifications of new jobs. */
  readonly requests = new Map<string, string>();
  readonly artifacts: ArtifactRow[] = [];
  readonly taskArtifacts: TaskArtifactRow[] = [];
  readonly requirements: RequirementRow[] = [];
  readonly inputs: JobInputRow[] = [];
  readonly variants: VariantsRow[] = [];
  readonly choices: ChoiceRow[] = [];
  readonly computed: ComputedRow[] = [];
  /** What is written beside rows, behind them. */
  readonly further: Statement[] = [];
  readonly pauses: PauseRow[] = [];
  readonly liftedPauses: Pick<PauseRow, 'kind' | 'name'>[] = [];
  /** Tasks that were leased in this turn. */
  readonly leased = new Set<TaskCell>();
  /** Workers whose waiting leases should be looked at: a slot came free, or they are new. */
  readonly wokenWorkers = new Set<string>();
  /** Workers that may have to stop something that they were not told of. */
  readonly mustStop = new Map<WorkerCell, string[]>();
  /** Leases granted in this turn, to be handed out after the commit. */
  readonly grants: { waiting: WaitingLease; tasks: LeasedTask[]; handedOut: (() => void)[] }[] = [];
  /** What else is said once the turn is durable. */
  readonly replies: (() => void)[] = [];
  /** What goes on in the next turn, once this one is durable. */
  readonly next: Envelope[] = [];
  /** Tasks that bulk commands reached in this turn; a turn has time for so many. */
  bulkDone = 0;
  /** Jobs in which a variant was selected that is to be refitted: a task for that is still to be queued. */
  readonly selecting = new Set<JobCell>();
  /** Jobs with what has been found in their pipelines: tasks for these are still to be queued. */
  readonly expanded = new Map<JobCell, FoundVariants>();
  /** Whether a task became queued. */
  hasQueued = false;
  /** Whether a worker fell away for tasks that wait, so that none may be left for some. */
  reviewWaiting = false;
  /** What the actors do, for those who watch; null while nobody does. */
  recording: Recording | null = null;
  /** By how much the counters change. */
  readonly counts = new TurnCounts();
  /** Whether it writes nothing: it is over at once, and no actor takes an event, as long as the store cannot commit. */
  readonly inMemory: boolean;
  readonly #reactions: ReactionTable<Turn>;
  /** New jobs by owner and idempotency key. */
  readonly #keys = new Map<string, KeyedJob>();
  readonly #undo: (() => void)[] = [];
  readonly #touched = new Set<AnyCell>();
  readonly #firstEvent: number;

  constructor(core: Core, reactions: ReactionTable<Turn>, inMemory = false) {
    this.core = core;
    this.#reactions = reactions;
    this.inMemory = inMemory;
    this.now = Math.round(core.clock.now() * 1000) / 1000;
    this.#firstEvent = core.sequences.event;
  }

  /** Whether there is anything that must be durable before somebody is answered. */
  get isEmpty(): boolean {
    return (
      this.events.length === 0 &&
      this.jobs.size === 0 &&
      this.tasks.size === 0 &&
      this.workers.size === 0 &&
      this.artifacts.length === 0 &&
      this.further.length === 0
    );
  }

  rowChanged(cell: AnyCell): void {
    if (this.inMemory) throw new Error(`a turn that writes nothing cannot change ${cell.id}`);
    if (cell instanceof TaskCell) this.tasks.add(this.references.task(cell));
    else if (cell instanceof JobCell) this.jobs.add(this.references.job(cell));
    else this.workers.add(this.references.worker(cell));
  }

  stateChanged(cell: AnyCell): void {
    if (cell instanceof WorkerCell) this.references.worker(cell);
    this.#touched.add(cell);
  }

  onRollback(undo: () => void): void {
    this.#undo.push(undo);
  }

  /** Registers what is said to somebody who waits, once the turn is durable. */
  afterCommit(say: () => void): void {
    this.replies.push(say);
  }

  /** @throws ClusterError `unknown_id`; what its message did not preload may be unknown as well */
  job(id: string): JobCell {
    return this.core.directory.job(id);
  }

  /** @throws ClusterError `unknown_id` */
  task(id: string): TaskCell {
    return this.core.directory.task(id);
  }

  /** @throws ClusterError `unknown_id` */
  worker(id: string): WorkerCell {
    return this.core.directory.worker(id);
  }

  /** Undefined where it is not in memory. */
  findJob(id: string): JobCell | undefined {
    return this.core.directory.jobs.get(id);
  }

  findTask(id: string): TaskCell | undefined {
    return this.core.directory.tasks.get(id);
  }

  findWorker(id: string): WorkerCell | undefined {
    return this.core.directory.workers.get(id);
  }

  makeId(kind: IdKind): string {
    return this.core.makeId(kind);
  }

  tellTask(task: TaskCell, event: TaskEvent): boolean {
    return this.#tell(task, event, SUPERVISOR, this.#reactions.task);
  }

  /** @param source the actor that tells it */
  tellJob(job: JobCell, event: JobEvent, source = SUPERVISOR): boolean {
    return this.#tell(job, event, source, this.#reactions.job);
  }

  /** @param source the actor that tells it */
  tellWorker(worker: WorkerCell, event: WorkerEvent, source = SUPERVISOR): boolean {
    return this.#tell(worker, event, source, this.#reactions.worker);
  }

  /** Records and returns an event; it gets its id and its time here. */
  event(
    about: { job_id?: string | null; task_id?: string | null; worker_id?: string | null },
    draft: EventDraft,
  ): EventRow {
    const event = {
      id: this.core.sequences.event++,
      job_id: about.job_id ?? null,
      task_id: about.task_id ?? null,
      worker_id: about.worker_id ?? null,
      ts: this.now,
      ...draft,
    };
    this.events.push(event);
    return event;
  }

  addJob(row: JobRow, request: string): JobCell {
    const job = this.core.directory.addJob(this.references, row, false);
    this.jobs.add(job);
    this.#react(this.#reactions.job, job, { type: 'moved', from: null, to: row.status }, row);
    this.recording?.actor(job);
    this.requests.set(row.id, request);
    return job;
  }

  /** The specification of a job that is too new to be read from the store. */
  requestOf(jobId: string): string | undefined {
    return this.requests.get(jobId);
  }

  /** What was found in the pipeline of a job, where that is too new to be read from the store. */
  variantsOf(jobId: string): string | undefined {
    return this.variants.find(({ job_id }) => job_id === jobId)?.variants;
  }

  /** @param key of `keyOf` */
  keepKey(key: string, job: KeyedJob): void {
    this.#keys.set(key, job);
  }

  /** The job under a key that is too new to be read from the store. */
  jobUnder(key: string): KeyedJob | undefined {
    return this.#keys.get(key);
  }

  addTask(row: TaskRow): TaskCell {
    const task = this.core.directory.addTask(this.references, row, false);
    this.tasks.add(task);
    this.#react(this.#reactions.task, task, { type: 'moved', from: null, to: row.status }, row);
    return task;
  }

  addWorker(row: WorkerRow): WorkerCell {
    const worker = this.core.directory.addWorker(this.references, row, false);
    this.workers.add(worker);
    this.#react(this.#reactions.worker, worker, { type: 'moved', from: null, to: row.status }, row);
    return worker;
  }

  /** It is durable, or had nothing to write: it can no longer be undone. */
  accept(): void {
    const { core } = this;
    followDeadlines(core, this.#touched);
    for (const cells of [this.jobs, this.tasks, this.workers, this.#touched])
      for (const cell of cells) cell.accept();
    if (!this.isEmpty) {
      core.counters.accept(this.now, this.counts);
      core.directory.unwritten.clear();
    }
    core.queue.gates.settle();
    for (const [worker, revoked] of this.mustStop)
      core.longPolls.answerStop(worker.id, [...new Set([...worker.toStop, ...revoked])]);
  }

  rollback(): void {
    const { directory, sequences, settings } = this.core;
    for (const job of this.jobs) if (!job.revert()) directory.removeJob(job);
    for (const task of this.tasks) if (!task.revert()) directory.removeTask(task);
    for (const worker of this.workers) if (!worker.revert()) directory.removeWorker(worker);
    for (const undo of this.#undo.reverse()) undo();
    // Event ids stay without gaps; numbers of jobs and tasks are not used again.
    sequences.event = this.#firstEvent;
    // What is overdue comes back a moment later, since the store that failed is not likely to work at once.
    followDeadlines(this.core, this.#touched, settings.probeInterval);
    directory.release(this.references);
  }

  /** Those who watch hear of an actor before they hear what it did. */
  #recordArrival(cell: AnyCell): void {
    if (this.recording && this.references.arrived.has(cell)) this.recording.actor(cell);
  }

  /** What the actor says has happened is followed at once; false when its state does not take the event. */
  #tell<Event extends { type: string }, Said extends { type: string }, Row extends { status: string }>(
    cell: AnyCell & { row: Row; send(journal: CellJournal, event: Event): Said[] | null },
    event: Event,
    source: string,
    table: object,
  ): boolean {
    if (this.inMemory) return false;
    this.#recordArrival(cell);
    const before = cell.row;
    const emissions = cell.send(this, event);
    this.recording?.event(cell, event, source);
    if (!emissions) return false;
    for (const said of emissions) this.#react(table, cell, said, before);
    const { status } = cell.row;
    if (status !== before.status)
      this.#react(table, cell, { type: 'moved', from: before.status, to: status }, before);
    return true;
  }

  #react(table: object, cell: AnyCell, said: { type: string } | Moved, before: object): void {
    const reactions = (table as Record<string, ((...args: unknown[]) => void)[]>)[said.type] ?? [];
    for (const react of reactions) react(this, cell, said, before);
  }
}
