import type { JobEmission } from '../../machines/job.ts';
import type { TaskEmission } from '../../machines/task.ts';
import type { WorkerEmission } from '../../machines/worker.ts';
import type { AnyAddress, JobAddress, TaskAddress, WorkerAddress } from './address.ts';

/** What is seen of every actor from outside: its status has changed. */
export interface Moved {
  type: 'moved';
  /** Null where the actor is new. */
  from: string | null;
  to: string;
}

type Reaction<Turn, Cell extends AnyAddress, Said> = (
  turn: Turn,
  cell: Cell,
  said: Said,
  /** As the row was when the event came. */
  before: Cell['row'],
) => void;

/** What follows from each emission, in order. */
type Table<Turn, Cell extends AnyAddress, Emission extends { type: string }> = {
  readonly [T in (Emission | Moved)['type']]: readonly Reaction<
    Turn,
    Cell,
    Extract<Emission | Moved, { type: T }>
  >[];
};

/** @param Turn as a part of which it follows */
export interface Routes<Turn> {
  /** Before a task is told anything but what a person wishes. */
  ahead(turn: Turn, task: TaskAddress): void;
  task: Table<Turn, TaskAddress, TaskEmission>;
  job: Table<Turn, JobAddress, JobEmission>;
  worker: Table<Turn, WorkerAddress, WorkerEmission>;
}
