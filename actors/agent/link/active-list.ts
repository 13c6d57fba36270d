import type { ActiveTask } from '../../../machines/schema/worker.ts';
import type { Leaving } from '../../../machines/worker.ts';

/** What heartbeats tell of the worker: a view of the agent's statechart that tells when it changes. */
export class ActiveList {
  #tasks: readonly ActiveTask[] = [];
  #suspended: string | null = null;
  #leaving: Leaving | null = null;
  #text = '[[],null,null]';
  readonly #listeners = new Set<() => void>();

  get tasks(): readonly ActiveTask[] {
    return this.#tasks;
  }

  /** Why the worker asks for no tasks at present. */
  get suspended(): string | null {
    return this.#suspended;
  }

  /** Whether the worker was told to end. */
  get leaving(): Leaving | null {
    return this.#leaving;
  }

  set(tasks: readonly ActiveTask[], suspended: string | null = null, leaving: Leaving | null = null): void {
    const text = JSON.stringify([tasks, suspended, leaving]);
    if (text === this.#text) return;
    this.#tasks = tasks;
    this.#suspended = suspended;
    this.#leaving = leaving;
    this.#text = text;
    for (const listener of this.#listeners) listener();
  }

  /** Calls back at each change; returns the way to stop. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
