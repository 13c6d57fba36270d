import { comparePoints, type Point, type Range } from '../../../machines/matching/ranges.ts';

/** Entries of a block; one that has more is cut in two. */
const MOST = 128;

const FIRST: Point = [Number.NEGATIVE_INFINITY];
const LAST: Point = [Number.POSITIVE_INFINITY];

interface Entry<Item> {
  readonly from: Point;
  readonly to: Point;
  readonly item: Item;
}

/** Neighbours in the order of entries, and the largest `to` among them. */
interface Block<Item> {
  entries: Entry<Item>[];
  to: Point;
}

/**
 * Things that are each about a range, found by a point in it. They stand in blocks, by where they begin; a block none
 * of which reaches far enough is passed by as a whole.
 */
export class RangeIndex<Item> {
  #blocks: Block<Item>[] = [];

  get isEmpty(): boolean {
    return this.#blocks.length === 0;
  }

  add(item: Item, { from, to }: Range): void {
    const entry = { from: from ?? FIRST, to: to ?? LAST, item };
    const at = Math.max(0, this.#lastBefore(entry));
    const block = this.#blocks[at];
    if (!block) {
      this.#blocks.push({ entries: [entry], to: entry.to });
      return;
    }
    const { entries } = block;
    const place = firstFor(entries, (other) => orderOf(other, entry) >= 0);
    entries.splice(place, 0, entry);
    if (comparePoints(entry.to, block.to) > 0) block.to = entry.to;
    if (entries.length > MOST) this.#blocks.splice(at, 1, ...halvesOf(entries));
  }

  /** Takes out what was added with this range. */
  delete(item: Item, { from, to }: Range): void {
    const wanted = { from: from ?? FIRST, to: to ?? LAST };
    // Those with the same range may stand in several blocks.
    for (let at = this.#lastBefore(wanted); at >= 0; at--) {
      const block = this.#blocks[at] as Block<Item>;
      const place = block.entries.findIndex((entry) => entry.item === item);
      if (place < 0) continue;
      block.entries.splice(place, 1);
      if (block.entries.length === 0) this.#blocks.splice(at, 1);
      else block.to = furthest(block.entries);
      return;
    }
  }

  /** Shows what is about a range that has this point in it. */
  at(point: Point, look: (item: Item) => void): void {
    for (const { entries, to } of this.#blocks) {
      if (comparePoints((entries[0] as Entry<Item>).from, point) > 0) return;
      if (comparePoints(to, point) < 0) continue;
      for (const entry of entries) {
        if (comparePoints(entry.from, point) > 0) return;
        if (comparePoints(entry.to, point) >= 0) look(entry.item);
      }
    }
  }

  /** The last block that begins before this, or with the same; -1 when there is none. */
  #lastBefore(wanted: Pick<Entry<Item>, 'from' | 'to'>): number {
    return firstFor(this.#blocks, ({ entries }) => orderOf(entries[0] as Entry<Item>, wanted) > 0) - 1;
  }
}

type Ends = Pick<Entry<unknown>, 'from' | 'to'>;

const orderOf = (a: Ends, b: Ends): number => comparePoints(a.from, b.from) || comparePoints(a.to, b.to);

/** The place of the first for which something is true that is true of all behind it. */
function firstFor<T>(sorted: readonly T[], isTrue: (one: T) => boolean): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isTrue(sorted[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function halvesOf<Item>(entries: Entry<Item>[]): Block<Item>[] {
  const behind = entries.splice(entries.length >>> 1);
  return [entries, behind].map((half) => ({ entries: half, to: furthest(half) }));
}

const furthest = (entries: readonly Ends[]): Point =>
  entries.reduce((to, entry) => (comparePoints(entry.to, to) > 0 ? entry.to : to), FIRST);
