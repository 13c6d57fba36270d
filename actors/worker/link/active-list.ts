import type { ActiveTask } from '../../../machines/schema/worker.ts';
import type { Leaving } from '../../../machines/worker/worker.ts';

/** What heartbeats tell of the worker: a view of the agent's statechart that tells when it changes. */
export class ActiveList {
  #tasks: readonly ActiveTask[] = [];
  #suspended: string | null = null;
  #leaving: Leaving | null = null;
  #text = '[[],null,null]';
  #pressing = '';
  readonly #listeners = new Set<(pressing: boolean) => void>();

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
    const stopping = tasks.filter((task) => task.stopping).map(({ task_id, attempt }) => [task_id, attempt]);
    const pressing = JSON.stringify([stopping, suspended, leaving]);
    const isPressing = pressing !== this.#pressing;
    this.#pressing = pressing;
    for (const listener of this.#listeners) listener(isPressing);
  }

  /**
   * Calls back at each change; returns the way to stop.
   * @param listener told whether the server should know at once: what was leased a moment ago, or has ended, it
   *   knows of otherwise; but not what was taken up from an earlier process, with the first list
   */
  onChange(listener: (pressing: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
