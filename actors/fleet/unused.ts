import type { Allocation } from '../../machines/fleet/plan.ts';
import type { Seen } from './look.ts';

/** Notices workers that come, are given nothing and leave, from one look at a fleet to the next. */
export class UnusedWorkers {
  /** Those that were there at the last look, and had been given nothing yet. */
  #unused = new Map<string, Allocation>();
  /** Ids of allocations whose worker was seen. */
  readonly #seen = new Set<string>();

  /** @returns the allocations of those that are gone since the last look */
  goneIn({ allocations, workers, blind }: Seen): Allocation[] {
    const there = new Set(allocations.map(({ id }) => id));
    const gone = [...this.#unused.values()].filter(({ id }) => !there.has(id));
    const unused = new Map<string, Allocation>();
    for (const allocation of allocations) {
      const { id, template, place } = allocation;
      const worker = workers.find((each) => each.template === template && each.place === place);
      if (!worker) continue;
      const isUnused = !this.#seen.has(id) || this.#unused.has(id);
      if (isUnused && worker.slots_used === 0) unused.set(id, allocation);
      this.#seen.add(id);
    }
    this.#unused = unused;
    if (blind.size === 0) for (const id of this.#seen) if (!there.has(id)) this.#seen.delete(id);
    return gone;
  }
}
