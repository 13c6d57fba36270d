/** What arrives where some look for it: a bucket with tasks, or a gate that opens. */
export interface Arrival {
  /** When it last became worth a look. */
  readonly arrived: number;
  /** Whether there is nothing behind it any more. */
  readonly isEmpty: boolean;
}

/** Unused entries that a list may hold, beside as many as it uses. */
const SPARE = 64;

/** Arrivals in the order in which each last became worth a look, for those who have seen all up to some moment. */
export class Arrivals<Item extends Arrival> {
  #items: Item[] = [];
  /** When each was noted; one that was noted again later stands twice, and only the last counts. */
  #moments: number[] = [];
  #most = SPARE;

  get length(): number {
    return this.#items.length;
  }

  note(item: Item): void {
    if (this.#items.length >= this.#most) this.#tidy();
    this.#items.push(item);
    this.#moments.push(item.arrived);
  }

  /** Shows those that arrived after a moment, the last first. There may be thousands: it is a plain loop. */
  since(moment: number, look: (item: Item) => void): void {
    for (let i = this.#items.length - 1; i >= 0 && (this.#moments[i] as number) > moment; i--) {
      const item = this.#items[i] as Item;
      if (item.arrived === this.#moments[i] && !item.isEmpty) look(item);
    }
  }

  #tidy(): void {
    const counts = this.#items.map((item, i) => item.arrived === this.#moments[i] && !item.isEmpty);
    this.#items = this.#items.filter((_, i) => counts[i]);
    this.#moments = this.#moments.filter((_, i) => counts[i]);
    this.#most = SPARE + 2 * this.#items.length;
  }
}
