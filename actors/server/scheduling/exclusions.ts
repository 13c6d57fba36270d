import type { WorkerCell } from '../runtime/actor-cell.ts';
import type { WorkerRow } from '../store/rows.ts';
import type { Journal } from '../turn/journal.ts';

/** From whom a task is kept although they meet its requirement. */
export interface KeptFrom {
  /** The same for all that are kept from the same. */
  readonly name: string;
  /** Registrations of workers that do not get it again. */
  readonly avoids: readonly string[];
  /** Paths that the task names and that some worker lacks. */
  readonly paths: readonly string[];
}

/** What a queued task asks beyond its requirement. */
export interface Exclusion extends KeptFrom {
  readonly key: string;
  /** Below zero, so that it is never the number of a requirement alone. */
  readonly id: number;
  readonly requirement: number;
  /** Sequence numbers of the tasks that ask this. */
  readonly tasks: Set<number>;
}

/** By what a task remembers that it avoids a worker: a worker that registers anew is tried anew. */
export const registrationOf = ({ id, session }: Readonly<WorkerRow>): string => `${id}#${session}`;

/** Whether a task avoids a worker that its requirement fits, or names a path that the worker lacks. */
export const isKeptFrom = (
  { avoids, paths }: Pick<Exclusion, 'avoids' | 'paths'>,
  { missingPaths }: WorkerCell,
  registration: string,
): boolean => avoids.includes(registration) || paths.some((path) => missingPaths.has(path));

/**
 * The tasks that not every worker gets whom their requirement fits. What they ask is a part of the key under which
 * they are queued, so that a lease passes them by as a whole and never one by one.
 */
export class Exclusions {
  readonly #byId = new Map<number, Exclusion>();
  readonly #byKey = new Map<string, Exclusion>();
  readonly #byTask = new Map<number, Exclusion>();
  #next = -1;

  get size(): number {
    return this.#byId.size;
  }

  /** Every exclusion of a task that is queued. */
  all(): Iterable<Exclusion> {
    return this.#byId.values();
  }

  /** Whether a key of the queue is an exclusion, not a requirement alone. */
  static isExclusion(key: number): boolean {
    return key < 0;
  }

  get(id: number): Exclusion | undefined {
    return this.#byId.get(id);
  }

  /** What a task asks beyond its requirement; undefined for nearly all. */
  of(seq: number): Exclusion | undefined {
    return this.#byTask.get(seq);
  }

  /** Notes what a task asks; returns the key to queue it under. */
  enter(
    journal: Journal,
    seq: number,
    { requirement, avoids, paths }: Pick<Exclusion, 'requirement' | 'avoids' | 'paths'>,
  ): number {
    if (avoids.length === 0 && paths.length === 0) return requirement;
    const name = JSON.stringify([[...avoids].sort(), [...paths].sort()]);
    const key = `${requirement} ${name}`;
    const exclusion = this.#byKey.get(key) ?? {
      ...{ key, id: this.#next--, requirement, name, avoids, paths },
      tasks: new Set<number>(),
    };
    this.#enter(seq, exclusion);
    journal.onRollback(() => this.#leave(seq));
    return exclusion.id;
  }

  /** The task is no longer queued, or asks something else. */
  leave(journal: Journal, seq: number): void {
    const exclusion = this.#leave(seq);
    if (exclusion) journal.onRollback(() => this.#enter(seq, exclusion));
  }

  #enter(seq: number, exclusion: Exclusion): void {
    exclusion.tasks.add(seq);
    this.#byId.set(exclusion.id, exclusion);
    if (!this.#byKey.has(exclusion.key)) this.#byKey.set(exclusion.key, exclusion);
    this.#byTask.set(seq, exclusion);
  }

  #leave(seq: number): Exclusion | undefined {
    const exclusion = this.#byTask.get(seq);
    if (!exclusion) return undefined;
    this.#byTask.delete(seq);
    exclusion.tasks.delete(seq);
    if (exclusion.tasks.size > 0) return exclusion;
    // Should a rollback bring it back, it has its number again; under its key there may be another by then.
    this.#byId.delete(exclusion.id);
    if (this.#byKey.get(exclusion.key) === exclusion) this.#byKey.delete(exclusion.key);
    return exclusion;
  }
}
