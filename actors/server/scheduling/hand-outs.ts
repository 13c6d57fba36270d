import type { JobPieces } from '../jobs/job-pieces.ts';
import type { TaskCell } from '../runtime/actor-cell.ts';
import type { TaskRow } from '../store/rows.ts';
import type { Journal } from '../turn/journal.ts';
import type { WaitingLease } from './long-polls.ts';

const MIB = 1024 * 1024;
/** Characters that the tasks of one answer take together, unless it is one task alone. */
const MOST_IN_ANSWER = 16 * MIB;
/** Of all answers that are on their way to their workers, unless it is one alone. */
const MOST_UNDER_WAY = 64 * MIB;
/** So many of each task are not counted: small ones find their way at any time. */
const FREE = 64 * 1024;

const NOTHING = () => {};

/** Characters of what a worker gets with a task, about. */
export function sizeOf(
  { pipelines, datasets, params, native }: JobPieces,
  { pipeline, dataset }: TaskRow['payload'],
): number {
  return (
    (pipelines[pipeline]?.length ?? 0) + (datasets[dataset]?.length ?? 0) + params.length + native.length
  );
}

/** What large tasks take in memory until their workers have read them, however slowly they do. */
export class HandOuts {
  #underWay = 0;
  #isFull = false;
  readonly #onRoom: () => void;

  /** @param onRoom called when there is room again, after somebody was told that there is none */
  constructor(onRoom: () => void) {
    this.#onRoom = onRoom;
  }

  /** Whether a task may be handed out now; if not, `onRoom` is called in time. */
  hasSpaceFor(size: number): boolean {
    const fits = size <= FREE || this.#underWay === 0 || this.#underWay + size - FREE <= MOST_UNDER_WAY;
    if (!fits) this.#isFull = true;
    return fits;
  }

  /** Counts a task until the function that it returns is called. */
  take(journal: Journal, size: number): () => void {
    if (size <= FREE) return NOTHING;
    let taken = size - FREE;
    this.#underWay += taken;
    const giveBack = () => {
      this.#underWay -= taken;
      taken = 0;
      if (!this.#isFull) return;
      this.#isFull = false;
      this.#onRoom();
    };
    journal.onRollback(giveBack);
    return giveBack;
  }
}

/** What one who waits gets. */
export interface Share {
  readonly tasks: TaskCell[];
  /** To be called when the tasks have been read, or will not be. */
  readonly handedOut: (() => void)[];
  size: number;
}

/** What those who wait get in one round. Who does not get the next of its tasks gets none of those behind it either. */
export class Shares {
  readonly all = new Map<WaitingLease, Share>();
  readonly #closed = new Set<WaitingLease>();
  readonly #journal: Journal;
  readonly #handOuts: HandOuts;

  constructor(journal: Journal, handOuts: HandOuts) {
    this.#journal = journal;
    this.#handOuts = handOuts;
  }

  isClosed(waiting: WaitingLease): boolean {
    return this.#closed.has(waiting);
  }

  close(waiting: WaitingLease): void {
    this.#closed.add(waiting);
  }

  /**
   * Whether there is room for the task, which then belongs to the share; the first of a share need not fit beside
   * others.
   */
  add(waiting: WaitingLease, task: TaskCell, size: number): boolean {
    if (this.isClosed(waiting)) return false;
    const share = this.all.get(waiting) ?? { tasks: [], handedOut: [], size: 0 };
    if (share.tasks.length >= waiting.max_tasks) return false;
    const fits = share.tasks.length === 0 || share.size + size <= MOST_IN_ANSWER;
    if (!fits || !this.#handOuts.hasSpaceFor(size)) {
      this.close(waiting);
      return false;
    }
    share.tasks.push(task);
    share.handedOut.push(this.#handOuts.take(this.#journal, size));
    share.size += size;
    this.all.set(waiting, share);
    return true;
  }
}
