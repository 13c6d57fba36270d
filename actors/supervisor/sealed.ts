import type { JobRow, MinuteRow, TallyRow, TaskRow, WorkerRow } from '../store/rows.ts';
import type { Changes } from '../store/store.ts';
import type { JobAddress, TaskAddress, WorkerAddress } from './address.ts';
import type { Core } from './core.ts';
import type { Added } from './tally.ts';

/** What a turn did to a row: as the store has it (null when it has none), and as it will have it. */
export interface Move<Row, Address> {
  address: Address;
  before: Row | null;
  after: Row;
}

type Lists = Omit<
  Changes,
  | 'new_jobs'
  | 'changed_jobs'
  | 'new_tasks'
  | 'changed_tasks'
  | 'registered_workers'
  | 'changed_workers'
  | 'minutes'
  | 'tally'
>;

/**
 * A turn that takes nothing more: the rows as it leaves them, while the next turn may go on from there. It becomes
 * the truth with its commit, or is undone together with what came after it.
 */
export class SealedTurn {
  readonly jobs: readonly Move<JobRow, JobAddress>[];
  readonly tasks: readonly Move<TaskRow, TaskAddress>[];
  readonly workers: readonly Move<WorkerRow, WorkerAddress>[];
  readonly changes: Changes;
  readonly #core: Core;
  readonly #minute: MinuteRow;
  readonly #tally: TallyRow;

  constructor(
    core: Core,
    touched: { jobs: Set<JobAddress>; tasks: Set<TaskAddress>; workers: Set<WorkerAddress> },
    lists: Lists,
    now: number,
  ) {
    this.#core = core;
    this.jobs = [...touched.jobs].map(seal<JobRow, JobAddress>);
    this.tasks = [...touched.tasks].map(seal<TaskRow, TaskAddress>);
    this.workers = [...touched.workers].map(seal<WorkerRow, WorkerAddress>);
    this.#minute = core.tally.minuteWith(now, this.#added());
    this.#tally = core.tally.rowWith(this);
    this.changes = {
      ...lists,
      new_jobs: rowsOf(this.jobs, isNew),
      changed_jobs: rowsOf(this.jobs, (move) => !isNew(move)),
      new_tasks: rowsOf(this.tasks, isNew),
      changed_tasks: rowsOf(this.tasks, (move) => !isNew(move)),
      registered_workers: rowsOf(this.workers, hasRegistered),
      changed_workers: rowsOf(this.workers, (move) => !hasRegistered(move)),
      minutes: [this.#minute],
      tally: [this.#tally],
    };
  }

  /** Makes the turn the new truth, after its commit. */
  accept(): void {
    const { registry, tally } = this.#core;
    tally.accept(this.#tally, this.#minute);
    for (const { address } of this.jobs) address.settle();
    for (const { address, before, after } of this.tasks) {
      registry.noteHolder(before, after);
      address.settle();
    }
    for (const { address } of this.workers) address.settle();
  }

  /** It was not written. */
  takeBack(): void {
    for (const { address } of this.jobs) address.unseal();
    for (const { address } of this.tasks) address.unseal();
    for (const { address } of this.workers) address.unseal();
  }

  #added(): Added {
    const added = { submitted: 0, started: 0, succeeded: 0, failed: 0, queued: 0, workers_alive: 0 };
    for (const { before, after } of this.tasks) {
      if (before === null) added.submitted++;
      if (after.status === before?.status) continue;
      if (after.status === 'running') added.started++;
      if (after.status === 'succeeded') added.succeeded++;
      if (after.status === 'failed') added.failed++;
      added.queued += Number(after.status === 'queued') - Number(before?.status === 'queued');
    }
    for (const { before, after } of this.workers) {
      added.workers_alive += Number(after.status === 'alive') - Number(before?.status === 'alive');
    }
    return added;
  }
}

function seal<Row, A extends { committed: Row | null; seal(): Row }>(address: A): Move<Row, A> {
  return { address, before: address.committed, after: address.seal() };
}

const isNew = ({ before }: Move<unknown, unknown>): boolean => before === null;

/** A registration brings a new declaration, even where it says the same. */
const hasRegistered = ({ before, after }: Move<WorkerRow, unknown>): boolean =>
  before === null || before.version !== after.version;

function rowsOf<Row>(
  moves: readonly Move<Row, unknown>[],
  belongs: (move: Move<Row, unknown>) => boolean,
): Row[] {
  const rows: Row[] = [];
  for (const move of moves) if (belongs(move)) rows.push(move.after);
  return rows;
}
