import type { Changes } from '../store/changes.ts';
import type { JobRow, MinuteRow, TallyRow, TaskRow, WorkerRow } from '../store/rows.ts';
import type { AnyAddress, JobAddress, TaskAddress, WorkerAddress } from './address.ts';
import type { Tally, TurnCounts } from './tally.ts';

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
  readonly jobs: ReadonlySet<JobAddress>;
  readonly tasks: ReadonlySet<TaskAddress>;
  readonly workers: ReadonlySet<WorkerAddress>;
  readonly counts: TurnCounts;
  /** Seconds since the epoch. */
  readonly now: number;
}

/**
 * A turn that takes nothing more: the rows as it leaves them, while the next turn may go on from there. It becomes
 * the truth with its commit, or is undone together with what came after it.
 */
export class SealedTurn {
  readonly changes: Changes;
  readonly #tally: Tally;
  readonly #counted: TallyRow;
  readonly #minute: MinuteRow;
  readonly #touched: readonly AnyAddress[];

  constructor(tally: Tally, { jobs, tasks, workers, counts, now }: Touched, lists: Lists) {
    this.#tally = tally;
    this.#counted = tally.rowWith(counts);
    this.#minute = tally.minuteWith(now, counts);
    this.#touched = [...jobs, ...tasks, ...workers];
    const [new_jobs, changed_jobs] = sealed<JobRow>(jobs, isNew);
    const [new_tasks, changed_tasks] = sealed<TaskRow>(tasks, isNew);
    const [registered_workers, changed_workers] = sealed<WorkerRow>(workers, hasRegistered);
    this.changes = {
      ...lists,
      ...{ new_jobs, changed_jobs, new_tasks, changed_tasks, registered_workers, changed_workers },
      minutes: [this.#minute],
      tally: [this.#counted],
    };
  }

  /** Makes the turn the new truth, after its commit. */
  accept(): void {
    this.#tally.accept(this.#counted, this.#minute);
    for (const address of this.#touched) address.settle();
  }

  /** It was not written. */
  takeBack(): void {
    for (const address of this.#touched) address.unseal();
  }
}

/** The rows that are written as new ones, and the others. */
function sealed<Row>(
  addresses: Iterable<{ readonly committed: Readonly<Row> | null; seal(): Row }>,
  isFirst: (before: Readonly<Row> | null, after: Row) => boolean,
): [Row[], Row[]] {
  const first: Row[] = [];
  const others: Row[] = [];
  for (const address of addresses) {
    const after = address.seal();
    if (isFirst(address.committed, after)) first.push(after);
    else others.push(after);
  }
  return [first, others];
}

const isNew = (before: unknown): boolean => before === null;

/** A registration brings a new declaration, even where it says the same. */
const hasRegistered = (before: Readonly<WorkerRow> | null, after: WorkerRow): boolean =>
  before === null || before.version !== after.version;
