import type { Group } from './groups.ts';

/** How free slots are shared: first come, first served, or by turns of owners or of jobs. */
export const SHARES = ['fifo', 'owner', 'job'] as const;
export type Share = (typeof SHARES)[number];

/** Those whose tasks are served together; the one that was served longest ago is next. */
class Party implements Group {
  readonly name: string | number;
  /** Larger than that of every other when it was served last; below zero as long as it never was. */
  turn: number;
  readonly isShut = false;
  /** Buckets of its tasks. */
  buckets = 0;

  constructor(name: string | number, turn: number) {
    this.name = name;
    this.turn = turn;
  }
}

/**
 * Whose turn it is. A turn only ever grows: who keeps the parties in order puts right what has grown when it looks at
 * the front. So a turn that is rolled back leaves who was served then where it stands.
 */
export class Rounds {
  readonly #parties = new Map<string | number, Party>();
  #served = 0;
  #came = Number.MIN_SAFE_INTEGER;

  /** The party of that name, with one bucket more. */
  enter(name: string | number): Group {
    const party = this.#parties.get(name) ?? new Party(name, this.#came++);
    this.#parties.set(name, party);
    party.buckets++;
    return party;
  }

  /** It has one bucket less; other groups are not counted. */
  leave(group: Group | undefined): void {
    if (group instanceof Party && --group.buckets === 0) this.#parties.delete(group.name);
  }

  serve(group: Group): void {
    if (group.turn !== null) group.turn = ++this.#served;
  }
}
