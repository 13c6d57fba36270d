import { setTimeout as pause } from 'node:timers/promises';
import type { EventPage, EventSource, LiveEvent } from '../../../gateway/backend.ts';

/** Milliseconds between two looks while somebody follows, and after one that failed. */
const LOOK_MS = { next: 100, failed: 1_000 };
const PAGE = 200;

interface Followed {
  /** The next events behind an id. */
  page(afterId: number, limit: number): Promise<EventPage>;
  /** The id of the last one that is committed. */
  last(): Promise<number>;
}

/**
 * The events that another server commits, as the store has them: it is looked at as long as somebody follows. Their ids
 * come in the order of their commits, since one server at a time writes, one turn after the other; so what stands behind
 * the last one that was handed on is all that is missing. When this server leads itself it goes on with its own.
 */
export class FollowedEvents implements EventSource {
  readonly #followed: Followed;
  readonly #listeners = new Set<(events: LiveEvent[]) => void>();
  readonly #end = new AbortController();
  /** This server's own events, once it leads. */
  #own: EventSource | null = null;
  #looking: Promise<void> | null = null;
  lastId = 0;

  constructor(followed: Followed) {
    this.#followed = followed;
  }

  /** The store has events up to this one. Who follows from now on begins there. */
  saw(lastId: number): void {
    if (this.#listeners.size === 0) this.lastId = Math.max(this.lastId, lastId);
  }

  latest(): Promise<number> {
    return this.#own ? this.#own.latest() : this.#followed.last();
  }

  subscribe(listener: (events: LiveEvent[]) => void): () => void {
    this.#listeners.add(listener);
    if (this.#own === null) this.#looking ??= this.#look();
    return () => this.#listeners.delete(listener);
  }

  /** This server leads: what it publishes is handed on behind the last event of the others, none twice and none left out. */
  async goOnWith(own: EventSource): Promise<void> {
    const waiting: LiveEvent[][] = [];
    let take = (events: LiveEvent[]): void => {
      waiting.push(events);
    };
    own.subscribe((events) => take(events));
    const upTo = own.lastId;
    this.#end.abort();
    await this.#looking;
    // Nobody may be left by then, as where this server is stopped while the store is away.
    for (let more = true; more && this.#listeners.size > 0 && this.lastId < upTo; )
      more = await this.#readPage().catch(() => pause(LOOK_MS.failed, true));
    this.lastId = Math.max(this.lastId, upTo);
    this.#own = own;
    take = (events) => this.#handOn(events);
    for (const events of waiting) take(events);
  }

  close(): void {
    this.#end.abort();
    this.#listeners.clear();
  }

  async #look(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted && this.#listeners.size > 0) {
      const wait = await this.#readPage().then(
        (more) => (more ? 0 : LOOK_MS.next),
        () => LOOK_MS.failed,
      );
      if (wait > 0) await pause(wait, undefined, { signal }).catch(() => {});
    }
    this.#looking = null;
  }

  /** @returns whether there may be more */
  async #readPage(): Promise<boolean> {
    const { events, more } = await this.#followed.page(this.lastId, PAGE);
    this.#handOn(events);
    return more;
  }

  #handOn(events: readonly LiveEvent[]): void {
    const fresh = events.filter(({ id }) => id > this.lastId);
    const last = fresh.at(-1);
    if (last === undefined) return;
    this.lastId = last.id;
    for (const listener of this.#listeners) listener(fresh);
  }
}
