import { type Arrival, Arrivals } from './arrivals.ts';
import type { PauseScope } from './gates.ts';
import type { Group } from './groups.ts';
import type { Lane } from './lanes.ts';

/** The queued tasks of a lane, which are held back and let go together. */
export class Gate implements Arrival, Group {
  readonly lane: Lane;
  /** The groups that it stands within, and itself. */
  readonly path: readonly Group[];
  readonly isEmpty = false;
  /** Lanes take none. */
  readonly turn = null;
  /** When it last opened. */
  arrived = 0;
  readonly #isShut: (lane: Lane) => boolean;

  constructor(lane: Lane, isShut: (lane: Lane) => boolean, within: readonly Group[]) {
    this.lane = lane;
    this.path = [...within, this];
    this.#isShut = isShut;
  }

  get isShut(): boolean {
    return this.#isShut(this.lane);
  }
}

/** The gate of each lane, and which of them opened when. Of owners and types there are few: all are remembered. */
export class Openings {
  readonly #byOwner = new Map<string, Map<string, Gate>>();
  readonly #isShut: (lane: Lane) => boolean;
  readonly #within: (lane: Lane) => readonly Group[];
  readonly #opened = new Arrivals<Gate>();
  #moment = 0;

  /**
   * @param isShut whether no task of a lane is given out at present
   * @param within the groups that a lane stands within
   */
  constructor(isShut: (lane: Lane) => boolean, within: (lane: Lane) => readonly Group[]) {
    this.#isShut = isShut;
    this.#within = within;
  }

  /** Counts what opened. */
  get moment(): number {
    return this.#moment;
  }

  of(lane: Lane): Gate {
    const gates = this.#byOwner.get(lane.owner) ?? new Map<string, Gate>();
    this.#byOwner.set(lane.owner, gates);
    const known = gates.get(lane.type);
    if (known) return known;
    const gate = new Gate(lane, this.#isShut, this.#within(lane));
    gates.set(lane.type, gate);
    return gate;
  }

  /** What was shut there is open: whoever passed it by looks at it again. */
  open({ kind, name }: PauseScope): void {
    const owners = kind === 'owner' ? [this.#byOwner.get(name)] : this.#byOwner.values();
    for (const gates of owners) {
      for (const gate of gates?.values() ?? [])
        if (kind !== 'type' || gate.lane.type === name) this.#note(gate);
    }
  }

  /** Shows the gates that opened after a moment. */
  since(moment: number, look: (gate: Gate) => void): void {
    if (moment < this.#moment) this.#opened.since(moment, look);
  }

  #note(gate: Gate): void {
    gate.arrived = ++this.#moment;
    this.#opened.note(gate);
  }
}
