import { isDeepStrictEqual } from 'node:util';
import type { Backend } from '../../gateway/backend.ts';
import type { EventView } from '../../machines/schema/views.ts';
import { History } from '../history/history.ts';
import { asSent, seen } from '../support/views.ts';

/** Every event that a system published, over all its restarts. */
export class Tape {
  readonly #events: EventView[] = [];
  readonly #history = new History();
  /** So many have been held against the store. */
  #compared = 0;

  /** Goes on with a server that has started: what was durable and nobody had heard of comes first. */
  async follow(port: Backend): Promise<void> {
    // A server that goes on with what was going on publishes while this reads.
    let meanwhile: EventView[] | null = [];
    port.events.subscribe((published) => {
      if (meanwhile) meanwhile.push(...asSent(published));
      else this.#add(asSent(published));
    });
    this.#add(await seen(port).events({ after_id: this.#events.length, limit: 5000 }));
    const known = this.#events.length;
    this.#add(meanwhile.filter(({ id }) => id > known));
    meanwhile = null;
  }

  /** Those that came since the last call. @throws Error when one is missing, or cannot follow what came before */
  take(): EventView[] {
    const events = this.#events.slice(this.#history.lastId);
    this.#history.take(events);
    return events;
  }

  /** Holds what was told since the last call against the store. @returns what does not fit, or null */
  async mismatch(port: Backend): Promise<string | null> {
    const stored = await seen(port).events({ after_id: this.#compared, limit: 5000 });
    const told = this.#events.slice(this.#compared);
    for (let i = 0; i < Math.max(told.length, stored.length); i++) {
      if (!isDeepStrictEqual(told[i], stored[i])) {
        return `event ${this.#compared + i + 1}: told ${JSON.stringify(told[i])}, stored ${JSON.stringify(stored[i])}`;
      }
    }
    this.#compared += stored.length;
    return null;
  }

  #add(events: readonly EventView[]): void {
    this.#events.push(...events);
  }
}
