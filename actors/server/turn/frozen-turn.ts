import type { Counters, TurnCounts } from '../counters.ts';
import type { AnyCell, JobCell, TaskCell, WorkerCell } from '../runtime/actor-cell.ts';
import type { Changes } from '../store/changes.ts';
import type { JobRow, MinuteRow, TallyRow, TaskRow, WorkerRow } from '../store/rows.ts';

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

interface Touched {
  readonly jobs: ReadonlySet<JobCell>;
  readonly tasks: ReadonlySet<TaskCell>;
  readonly workers: ReadonlySet<WorkerCell>;
  readonly counts: TurnCounts;
  /** Seconds since the epoch. */
  readonly now: number;
}

/**
 * A turn that takes nothing more: the rows as it leaves them, while the next turn may go on from there. It becomes
 * the truth with its commit, or is undone together with what came after it.
 */
export class FrozenTurn {
  readonly changes: Changes;
  readonly #counters: Counters;
  readonly #counted: TallyRow;
  readonly #minute: MinuteRow;
  readonly #touched: readonly AnyCell[];

  constructor(counters: Counters, { jobs, tasks, workers, counts, now }: Touched, lists: Lists) {
    this.#counters = counters;
    this.#counted = counters.rowWith(counts);
    this.#minute = counters.minuteWith(now, counts);
    this.#touched = [...jobs, ...tasks, ...workers];
    const [new_jobs, changed_jobs] = frozen<JobRow>(jobs, isNew);
    const [new_tasks, changed_tasks] = frozen<TaskRow>(tasks, isNew);
    const [registered_workers, changed_workers] = frozen<WorkerRow>(workers, hasRegistered);
    this.changes = {
      ...lists,
      ...{ new_jobs, changed_jobs, new_tasks, changed_tasks, registered_workers, changed_workers },
      minutes: [this.#minute],
      tally: [this.#counted],
    };
  }

  /** Makes the turn the new truth, after its commit. */
  accept(): void {
    this.#counters.accept(this.#counted, this.#minute);
    for (const cell of this.#touched) cell.committedNow();
  }

  /** It was not written. */
  rollback(): void {
    for (const cell of this.#touched) cell.unfreeze();
  }
}

/** The rows that are written as new ones, and the others. */
function frozen<Row>(
  cells: Iterable<{ readonly committed: Readonly<Row> | null; freeze(): Row }>,
  isFirst: (before: Readonly<Row> | null, after: Row) => boolean,
): [Row[], Row[]] {
  const first: Row[] = [];
  const others: Row[] = [];
  for (const cell of cells) {
    const after = cell.freeze();
    if (isFirst(cell.committed, after)) first.push(after);
    else others.push(after);
  }
  return [first, others];
}

const isNew = (before: unknown): boolean => before === null;

/** A registration brings a new declaration, even where it says the same. */
const hasRegistered = (before: Readonly<WorkerRow> | null, after: WorkerRow): boolean =>
  before === null || before.version !== after.version;
