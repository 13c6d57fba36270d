import type { ActiveTask } from '../../../machines/schema/worker.ts';

/** What runs now, as heartbeats list it: a view of the agent's statechart that tells when it changes. */
export class ActiveList {
  #tasks: readonly ActiveTask[] = [];
  #text = '[]';
  readonly #listeners = new Set<() => void>();

  get tasks(): readonly ActiveTask[] {
    return this.#tasks;
  }

  set(tasks: readonly ActiveTask[]): void {
    const text = JSON.stringify(tasks);
    if (text === this.#text) return;
    this.#tasks = tasks;
    this.#text = text;
    for (const listener of this.#listeners) listener();
  }

  /** Calls back at each change; returns the way to stop. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
