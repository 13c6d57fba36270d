import type { PauseRow } from '../store/rows.ts';
import type { Journal } from '../turn/journal.ts';
import type { Lane } from './lanes.ts';

/** What is paused: everything, the jobs of a type, or those of an owner. */
export type PauseScope = Pick<PauseRow, 'kind' | 'name'>;

const keyOf = ({ kind, name }: PauseScope): string => JSON.stringify([kind, name]);

/**
 * Of which lanes no task is leased at present: those that are paused, and those of owners who have as many tasks under
 * way as they may.
 */
export class Gates {
  /** Tasks that an owner may have under way; null: any number. */
  readonly limit: number | null;
  #pauses: ReadonlyMap<string, PauseRow> = new Map();
  /** The pauses that are committed: what readers see. */
  #settled = this.#pauses;
  readonly #running = new Map<string, number>();
  /** By how much what is under way is ahead of what is committed. */
  readonly #ahead = new Map<string, number>();
  /** Told of a gate that opens: what stands behind it is worth a look again. */
  readonly #onOpen: (scope: PauseScope) => void;

  constructor(limit: number | null, onOpen: (scope: PauseScope) => void) {
    this.limit = limit;
    this.#onOpen = onOpen;
  }

  pauses(): PauseRow[] {
    return [...this.#pauses.values()];
  }

  /** Those that are committed. */
  settledPauses(): PauseRow[] {
    return [...this.#settled.values()];
  }

  /** What is paused and under way by now is committed. */
  settle(): void {
    this.#settled = this.#pauses;
    this.#ahead.clear();
  }

  isPaused(scope: PauseScope): boolean {
    return this.#pauses.has(keyOf(scope));
  }

  pause(journal: Journal, row: PauseRow): void {
    this.#pauses = new Map(this.#pauses).set(keyOf(row), row);
    journal.onRollback(() => this.#lift(row));
  }

  /** False where it is not paused. */
  resume(journal: Journal, scope: PauseScope): boolean {
    const row = this.#pauses.get(keyOf(scope));
    if (row === undefined) return false;
    this.#lift(row);
    journal.onRollback(() => {
      this.#pauses = new Map(this.#pauses).set(keyOf(row), row);
    });
    return true;
  }

  #lift(row: PauseRow): void {
    const left = new Map(this.#pauses);
    left.delete(keyOf(row));
    this.#pauses = left;
    this.#onOpen(row);
  }

  /** Why none of its tasks is leased, for readers: what is paused, or `owner_limit`; null where they are. */
  whyWaits(lane: Lane): string | null {
    return this.#why(this.#settled, lane, this.#settledRunningOf(lane));
  }

  /** Whether all, its type or its owner is paused, for readers. */
  isPausedFor(lane: Lane): boolean {
    return this.#why(this.#settled, lane, Number.NEGATIVE_INFINITY) !== null;
  }

  /** How many more of the owner's tasks may be under way, for readers; without a limit, any number. */
  roomFor(lane: Lane): number {
    return this.limit === null ? Infinity : Math.max(0, this.limit - this.#settledRunningOf(lane));
  }

  #settledRunningOf(lane: Lane): number {
    return this.#runningOf(lane) - (this.#ahead.get(lane.owner) ?? 0);
  }

  #runningOf({ owner }: Lane): number {
    return this.#running.get(owner) ?? 0;
  }

  #why(pauses: ReadonlyMap<string, PauseRow>, { owner, type }: Lane, running: number): string | null {
    if (pauses.size > 0) {
      if (pauses.has(keyOf({ kind: 'all', name: '' }))) return 'paused';
      if (pauses.has(keyOf({ kind: 'type', name: type }))) return `paused.type=${type}`;
      if (pauses.has(keyOf({ kind: 'owner', name: owner }))) return `paused.owner=${owner}`;
    }
    return this.limit !== null && running >= this.limit ? 'owner_limit' : null;
  }

  isShut(lane: Lane): boolean {
    return (
      (this.#pauses.size > 0 || this.limit !== null) &&
      this.#why(this.#pauses, lane, this.#runningOf(lane)) !== null
    );
  }

  /** One of the owner's tasks is under way. */
  began(journal: Journal, { owner }: Lane): void {
    if (this.limit === null) return;
    this.#count(owner, 1);
    journal.onRollback(() => this.#count(owner, -1));
  }

  /** One is no more. @returns whether that lets others go */
  ended(journal: Journal, { owner }: Lane): boolean {
    if (this.limit === null) return false;
    const opens = this.#running.get(owner) === this.limit;
    this.#count(owner, -1);
    journal.onRollback(() => this.#count(owner, 1));
    return opens;
  }

  #count(owner: string, by: number): void {
    const running = (this.#running.get(owner) ?? 0) + by;
    if (running > 0) this.#running.set(owner, running);
    else this.#running.delete(owner);
    this.#ahead.set(owner, (this.#ahead.get(owner) ?? 0) + by);
    if (by < 0 && running === (this.limit ?? 0) - 1) this.#onOpen({ kind: 'owner', name: owner });
  }
}
