import type { AnyStateMachine, EmittedFrom, EventFromLogic, SnapshotFrom } from 'xstate';
import { type JobContext, jobMachine } from '../../machines/job.ts';
import { rankedBy } from '../../machines/ranking/standing.ts';
import { isHeld, type TaskContext, taskMachine } from '../../machines/task.ts';
import { type WorkerContext, workerMachine } from '../../machines/worker.ts';
import type { JobRow, TaskRow, WorkerRow } from '../store/rows.ts';
import { type TaskFacts, UNHELD, unheard, type WorkerFacts } from './facts.ts';
import { type Journal, JournaledSet } from './journal.ts';
import { MissingPaths } from './missing-paths.ts';

import type { QueueView } from './queue-view.ts';
import { Stage } from './stage.ts';
import { kindOf } from './worker-kind.ts';

/** How a row and the snapshot of its actor correspond; exact both ways, for every state. */
export interface Correspondence<Row, M extends AnyStateMachine> {
  machine: M;
  stage: Stage<M>;
  restore(row: Row): SnapshotFrom<M>;
  /** @param now when the actor moved, in seconds since the epoch */
  fold(row: Row, snapshot: SnapshotFrom<M>, now: number): Row;
}

export const JOB: Correspondence<JobRow, typeof jobMachine> = {
  machine: jobMachine,
  stage: new Stage(jobMachine),
  restore: (row) => {
    const context: JobContext = {
      id: row.id,
      num_tasks: row.num_tasks,
      counts: row.counts,
      standings: row.standings,
      num_reused: row.num_reused,
      selection: row.selection,
      error: row.error,
    };
    return jobMachine.resolveState({ value: join(row) as 'running', context });
  },
  fold: (row, { value, context }, now) => {
    const { num_tasks, counts, standings, num_reused, selection, error } = context;
    const ranked = rankedBy(standings);
    return {
      ...row,
      ...split<JobRow['status']>(value),
      updated_at: now,
      num_tasks,
      counts,
      standings,
      num_reused,
      selection,
      ...ranked,
      error,
    };
  },
};

/** Splits a state value into the status on the wire and the state below it. */
function split<S extends string>(value: unknown): { status: S; state: string | null } {
  if (typeof value === 'string') return { status: value as S, state: null };
  for (const status in value as Record<string, string>) {
    return { status: status as S, state: (value as Record<string, string>)[status] ?? null };
  }
  throw new Error('a state value without a state');
}

const join = (row: { status: string; state: string | null }) =>
  row.state === null ? row.status : { [row.status]: row.state };

export const TASK: Correspondence<TaskRow, typeof taskMachine> = {
  machine: taskMachine,
  stage: new Stage(taskMachine),
  restore: (row) => {
    const context: TaskContext = {
      id: row.id,
      job_id: row.job_id,
      attempt: row.attempt,
      max_attempts: row.max_attempts,
      backoff_seconds: row.backoff_seconds,
      not_before: row.not_before,
      worker_faults: row.worker_faults,
      avoids: row.avoids,
      worker_id: row.worker_id,
      lease_expires_at: row.lease_expires_at,
      started_at: row.started_at,
      error: row.error,
      result: row.result,
      reused_from: row.reused_from,
      rank_value: row.rank_value,
      rank_others: row.rank_others,
      model_artifact_id: row.model_artifact_id,
      last_report: row.last_report,
    };
    return taskMachine.resolveState({ value: join(row) as 'queued', context });
  },
  fold: (row, { value, context }, now) => ({
    ...row,
    ...context,
    ...split<TaskRow['status']>(value),
    updated_at: now,
  }),
};

export const WORKER: Correspondence<WorkerRow, typeof workerMachine> = {
  machine: workerMachine,
  stage: new Stage(workerMachine),
  restore: (row) => {
    const { id, slots_total, slots_used, suspended, leaving } = row;
    const context: WorkerContext = { id, slots_total, slots_used, suspended, leaving };
    return workerMachine.resolveState({ value: join(row) as 'dead', context });
  },
  fold: (row, { value, context }) => ({ ...row, ...context, ...split<WorkerRow['status']>(value) }),
};

/** The journal of a turn, as far as addresses need it. */
export interface AddressJournal extends Journal {
  /** Seconds since the epoch. */
  readonly now: number;
  /** The row has changed; it is written with the turn, or falls back. */
  changed(address: AnyAddress): void;
  /** What is known beside the row has changed. */
  noted(address: AnyAddress): void;
}

/**
 * An actor at its durable address. The row is the truth; the actor is restored from it when a message comes
 * and may be let go at any time. A row passes three places: `row` is where the open turn is, `sealed` what the
 * turn before it is writing, `committed` what the store has. What is known beside it, its facts, needs no place in
 * the store. Both change only through the journal of a turn.
 */
abstract class Address<Row extends { id: string }, M extends AnyStateMachine, Facts> {
  /** How many turns and visits need it in memory. */
  pins = 0;
  #row: Row;
  #facts: Facts;
  #sealed: Row | null = null;
  #committed: Row | null;
  readonly #kind: Correspondence<Row, M>;
  #snapshot: SnapshotFrom<M> | null = null;

  constructor(kind: Correspondence<Row, M>, row: Row, stored: boolean, facts: Facts) {
    this.#kind = kind;
    this.#row = row;
    this.#facts = facts;
    this.#committed = stored ? row : null;
  }

  get id(): string {
    return this.#row.id;
  }

  get row(): Readonly<Row> {
    return this.#row;
  }

  /** The row that is being written; null when none is. */
  get sealed(): Readonly<Row> | null {
    return this.#sealed;
  }

  /** The row as the store has it; null when the store does not have it yet. */
  get committed(): Readonly<Row> | null {
    return this.#committed;
  }

  get facts(): Readonly<Facts> {
    return this.#facts;
  }

  get machine(): M {
    return this.#kind.machine;
  }

  /** Where the actor stands. */
  get snapshot(): SnapshotFrom<M> {
    return this.#snapshot ?? this.#kind.restore(this.#row);
  }

  /**
   * Sends an event to the actor. Null when its state does not take the event: then nothing changed.
   * Otherwise what the actor emitted, in order; the row, a new object, has followed the snapshot.
   */
  send(journal: AddressJournal, event: EventFromLogic<M>): EmittedFrom<M>[] | null {
    const step = this.#kind.stage.step(this.snapshot, event);
    if (step === null) return null;
    journal.changed(this.#self);
    this.#snapshot = step.after;
    this.#row = this.#kind.fold(this.#row, step.after, journal.now);
    return step.emitted;
  }

  /** Changes of the row what no statechart decides. */
  amend(journal: AddressJournal, change: Partial<Row>): void {
    journal.changed(this.#self);
    this.#row = { ...this.#row, ...change };
  }

  note(journal: AddressJournal, change: Partial<Facts>): void {
    const before = this.#facts;
    this.#facts = { ...before, ...change };
    journal.noted(this.#self);
    journal.onRollback(() => {
      this.#facts = before;
    });
  }

  /** What the turn made of the row is about to be written. */
  seal(): Row {
    this.#sealed = this.#row;
    return this.#row;
  }

  /** The store has the sealed row now. */
  settle(): void {
    this.#committed = this.#sealed;
    this.#sealed = null;
  }

  /** The sealed row was not written. */
  unseal(): void {
    this.#sealed = null;
  }

  /** Forgets what the open turn made of the row. False when nothing is left: the address never existed. */
  fallBack(): boolean {
    this.letGo();
    const before = this.#sealed ?? this.#committed;
    if (before === null) return false;
    this.#row = before;
    return true;
  }

  /** Drops the snapshot; the row keeps all it knows. There is nothing to stop: it has no children and no timers. */
  letGo(): void {
    this.#snapshot = null;
  }

  /** Every address is one of the three kinds. */
  get #self(): AnyAddress {
    return this as unknown as AnyAddress;
  }
}

export class JobAddress extends Address<JobRow, typeof jobMachine, null> {
  constructor(row: JobRow, stored: boolean) {
    super(JOB, row, stored, null);
  }
}

export class TaskAddress extends Address<TaskRow, typeof taskMachine, TaskFacts> {
  constructor(row: TaskRow, stored: boolean, facts = UNHELD) {
    super(TASK, row, stored, facts);
  }
}

export class WorkerAddress extends Address<WorkerRow, typeof workerMachine, WorkerFacts> {
  /** The tasks that it holds. */
  readonly held = new JournaledSet<TaskAddress>();
  /** Tasks that it must stop although it no longer holds them; for workers that list no active tasks. */
  readonly revoked = new JournaledSet<string>();
  readonly missing = new MissingPaths();
  /** What of the queue it alone may not run; see `Profiles`. */
  special: { view: QueueView; declared: WorkerRow['version']; missing: unknown } | null = null;
  #kind: { declared: WorkerRow['version']; key: string } | null = null;

  constructor(row: WorkerRow, stored: boolean, facts = unheard(row.last_seen_at)) {
    super(WORKER, row, stored, facts);
  }

  /** The tasks that it holds, but for those whose lease is not durable yet. */
  get durablyHeld(): TaskAddress[] {
    return [...this.held].filter(
      ({ committed }) => committed !== null && isHeld(committed) && committed.worker_id === this.id,
    );
  }

  /** What it must stop that it was not asked about: for its job or its timeout, or taken from it. */
  get toStop(): string[] {
    const stopping = this.durablyHeld.filter(({ row }) => row.state === 'stopping');
    return [...new Set([...stopping.map(({ id }) => id), ...this.revoked])];
  }

  /**
   * What it declared, as a short text that is the same for all who declared the same. A registration is known by its
   * `version` object.
   */
  get kind(): string {
    if (this.#kind?.declared !== this.row.version) {
      this.#kind = { declared: this.row.version, key: kindOf(this.row) };
    }
    return this.#kind.key;
  }
}

export type AnyAddress = JobAddress | TaskAddress | WorkerAddress;
