import type { EventSource, LiveEvent } from '../../gateway/backend.ts';

/** Hands committed events on to those who listen, in commit order. */
export class EventBus implements EventSource {
  lastId = 0;
  readonly #listeners = new Set<(events: LiveEvent[]) => void>();

  async latest(): Promise<number> {
    return this.lastId;
  }

  subscribe(listener: (events: LiveEvent[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(events: LiveEvent[]): void {
    const last = events.at(-1);
    if (!last) return;
    this.lastId = last.id;
    for (const listener of this.#listeners) listener(events);
  }
}
