import type { EventView } from '../../../../machines/schema/views.ts';

type Listener = (event: EventView) => void;

/** Hands every event of the global stream to those who follow it. */
export class EventHub {
  readonly #listeners = new Set<Listener>();
  /** The newest id handed on. */
  lastId = 0;

  /** Returns the way to stop. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(event: EventView): void {
    this.lastId = event.id;
    for (const listener of this.#listeners) listener(event);
  }
}
