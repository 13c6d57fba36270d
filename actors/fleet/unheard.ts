import type { Allocation } from '../../machines/fleet/plan.ts';
import type { Seen } from './look.ts';

/** Seconds for which an allocation may run without the server having heard of its worker: what comes in front of it may take a while. */
const PATIENCE = 300;

/** Notices allocations that run while the server hears of no worker there, from one look at a fleet to the next. */
export class UnheardWorkers {
  /** Since when, by the id of the allocation. */
  #since = new Map<string, number>();
  #known: ReadonlySet<string> = new Set();

  /**
   * @param now seconds since the epoch
   * @returns the ids of all that are so for too long, and those of them that were not at the last look
   */
  in({ allocations, workers }: Seen, now: number): { ids: ReadonlySet<string>; fresh: Allocation[] } {
    const silent = allocations.filter(
      ({ state, template, place }) =>
        state === 'running' && !workers.some((each) => each.template === template && each.place === place),
    );
    this.#since = new Map(silent.map(({ id }) => [id, this.#since.get(id) ?? now]));
    const over = silent.filter(({ id }) => now - (this.#since.get(id) as number) >= PATIENCE);
    const fresh = over.filter(({ id }) => !this.#known.has(id));
    this.#known = new Set(over.map(({ id }) => id));
    return { ids: this.#known, fresh };
  }
}
