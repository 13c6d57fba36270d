import type { JobEmission } from '../../../machines/job/job.ts';
import type { TaskEmission } from '../../../machines/task/task.ts';
import type { WorkerEmission } from '../../../machines/worker/worker.ts';
import type { AnyCell, JobCell, TaskCell, WorkerCell } from '../runtime/actor-cell.ts';

/** What is seen of every actor from outside: its status has changed. */
export interface Moved {
  type: 'moved';
  /** Null where the actor is new. */
  from: string | null;
  to: string;
}

type Reaction<Turn, Cell extends AnyCell, Said> = (
  turn: Turn,
  cell: Cell,
  said: Said,
  /** As the row was when the event came. */
  before: Cell['row'],
) => void;

/** What follows from each emission, in order. */
type Table<Turn, Cell extends AnyCell, Emission extends { type: string }> = {
  readonly [T in (Emission | Moved)['type']]: readonly Reaction<
    Turn,
    Cell,
    Extract<Emission | Moved, { type: T }>
  >[];
};

/** @param Turn as a part of which it follows */
export interface ReactionTable<Turn> {
  task: Table<Turn, TaskCell, TaskEmission>;
  job: Table<Turn, JobCell, JobEmission>;
  worker: Table<Turn, WorkerCell, WorkerEmission>;
}
