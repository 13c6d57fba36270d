import type { AnyStateMachine, EmittedFrom, EventFromLogic, SnapshotFrom } from 'xstate';
import type { jobMachine } from '../../../machines/job/job.ts';
import type { taskMachine } from '../../../machines/task/task.ts';
import type { workerMachine } from '../../../machines/worker/worker.ts';
import type { MissingPaths } from '../scheduling/missing-paths.ts';
import type { JobRow, TaskRow, WorkerRow } from '../store/rows.ts';
import { type Journal, JournaledSet } from '../turn/journal.ts';
import { JOB, type RowMapping, TASK, WORKER } from './row-mapping.ts';
import {
  type JobSoftState,
  NO_BULK,
  NOT_HELD,
  neverHeard,
  type TaskSoftState,
  type WorkerSoftState,
} from './soft-state.ts';

/** The journal of a turn, as far as cells need it. */
export interface CellJournal extends Journal {
  /** Seconds since the epoch. */
  readonly now: number;
  /** The row has changed; it is written with the turn, or is reverted. */
  rowChanged(cell: AnyCell): void;
  /** What is known beside the row has changed. */
  stateChanged(cell: AnyCell): void;
}

/**
 * An actor at its durable id. The row is the truth; the actor is activated from it when a message comes and may be
 * passivated at any time: `row` is where the turn is, `committed` what the store has. Its soft state is in memory only;
 * `soft` is where the turn is, `settledSoft` what the last turn that was accepted left. All of it changes only through
 * the journal of a turn. Who reads beside the turns is shown what is committed and settled: the rest may be undone.
 */
abstract class ActorCell<Row extends { id: string }, M extends AnyStateMachine, Soft> {
  /** How many turns and visits need it in memory. */
  references = 0;
  #row: Row;
  #soft: Soft;
  #committed: Row | null;
  #settledSoft: Soft;
  readonly #kind: RowMapping<Row, M>;
  #snapshot: SnapshotFrom<M> | null = null;

  constructor(kind: RowMapping<Row, M>, row: Row, stored: boolean, soft: Soft) {
    this.#kind = kind;
    this.#row = row;
    this.#soft = soft;
    this.#settledSoft = soft;
    this.#committed = stored ? row : null;
  }

  get id(): string {
    return this.#row.id;
  }

  get row(): Readonly<Row> {
    return this.#row;
  }

  /** The row as the store has it; null when the store does not have it yet. */
  get committed(): Readonly<Row> | null {
    return this.#committed;
  }

  get soft(): Readonly<Soft> {
    return this.#soft;
  }

  /** As no turn that goes on can undo it. */
  get settledSoft(): Readonly<Soft> {
    return this.#settledSoft;
  }

  get machine(): M {
    return this.#kind.stage.machine;
  }

  /** Where the actor stands. */
  get snapshot(): SnapshotFrom<M> {
    return this.#snapshot ?? this.#kind.restore(this.#row);
  }

  /**
   * Sends an event to the actor. Null when its state does not take the event: then nothing changed.
   * Otherwise what the actor emitted, in order; the row, a new object, has followed the snapshot.
   */
  send(journal: CellJournal, event: EventFromLogic<M>): EmittedFrom<M>[] | null {
    const step = this.#kind.stage.step(this.snapshot, event);
    if (step === null) return null;
    journal.rowChanged(this.#self);
    this.#snapshot = step.after;
    this.#row = this.#kind.fold(this.#row, step.after, journal.now);
    return step.emitted;
  }

  /** Changes columns that no statechart decides. */
  amend(journal: CellJournal, change: Partial<Row>): void {
    journal.rowChanged(this.#self);
    this.#row = { ...this.#row, ...change };
  }

  update(journal: CellJournal, change: Partial<Soft>): void {
    const before = this.#soft;
    this.#soft = { ...before, ...change };
    journal.stateChanged(this.#self);
    journal.onRollback(() => {
      this.#soft = before;
    });
  }

  /** The store has the row now, as the turn left it; what is known beside it holds too. */
  accept(): void {
    this.#committed = this.#row;
    this.#settledSoft = this.#soft;
  }

  /** Forgets what the turn made of the row. False when nothing is left: the cell never existed. */
  revert(): boolean {
    this.passivate();
    if (this.#committed === null) return false;
    this.#row = this.#committed;
    return true;
  }

  /** Drops the snapshot; the row keeps all it knows. There is nothing to stop: it has no children and no timers. */
  passivate(): void {
    this.#snapshot = null;
  }

  /** Every cell is one of the three kinds. */
  get #self(): AnyCell {
    return this as unknown as AnyCell;
  }
}

export class JobCell extends ActorCell<JobRow, typeof jobMachine, JobSoftState> {
  constructor(row: JobRow, stored: boolean) {
    super(JOB, row, stored, NO_BULK);
  }
}

export class TaskCell extends ActorCell<TaskRow, typeof taskMachine, TaskSoftState> {
  constructor(row: TaskRow, stored: boolean) {
    super(TASK, row, stored, NOT_HELD);
  }
}

export class WorkerCell extends ActorCell<WorkerRow, typeof workerMachine, WorkerSoftState> {
  /** The tasks that it holds. */
  readonly held = new JournaledSet<TaskCell>();
  /** Tasks that it must stop although it no longer holds them; for workers that list no active tasks. */
  readonly revoked = new JournaledSet<string>();

  constructor(row: WorkerRow, stored: boolean) {
    super(WORKER, row, stored, neverHeard(row.last_seen_at));
  }

  /** What it must stop that it was not asked about: for its job or its timeout, or taken from it. */
  get toStop(): string[] {
    const stopping = [...this.held].filter(({ row }) => row.state === 'stopping');
    return [...new Set([...stopping.map(({ id }) => id), ...this.revoked])];
  }

  /** Whether its row is deleted with the turn: no client ever sees this status. */
  get isRemoved(): boolean {
    return (this.row.status as string) === 'removed';
  }

  get missingPaths(): MissingPaths {
    return this.soft.missingPaths;
  }
}

export type AnyCell = JobCell | TaskCell | WorkerCell;
