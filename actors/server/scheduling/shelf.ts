import type { AskedRange } from '../../../machines/matching/matching.ts';
import type { Point } from '../../../machines/matching/ranges.ts';
import { Arrivals } from './arrivals.ts';
import type { Bucket } from './bucket.ts';
import type { KeptFrom } from './exclusions.ts';
import type { Lane } from './lanes.ts';
import { RangeIndex } from './range-index.ts';

/** By what the tasks of a key are found. */
export interface Filing {
  /** What a worker must have, any of which will do to file the tasks under it; empty: nothing. */
  readonly terms: readonly string[];
  /** In which it must stand, any of which will do. */
  readonly ranges?: readonly AskedRange[] | undefined;
  /** From whom they are kept although they have all that. */
  readonly keptFrom?: KeptFrom | undefined;
  /** Whose the tasks are. */
  readonly lane?: Lane;
}

/** Who looks for work, as far as it decides where to look; whether it may run what it finds is looked at there. */
export interface Seeker {
  /** Null: in none of the ranges. */
  pointIn(of: string): Point | null;
  isKept(from: KeptFrom): boolean;
}

/** What is kept from the same workers, and asks a range of the same; or none. */
interface Drawer {
  readonly name: string;
  readonly keptFrom: KeptFrom | undefined;
  readonly of: string | null;
  readonly plain: Set<Bucket>;
  readonly ranges: RangeIndex<Bucket>;
}

/** The buckets that are filed under one term, so that who has it finds them without a look at each. */
export class Shelf {
  readonly arrivals = new Arrivals<Bucket>();
  readonly #drawers = new Map<string, Drawer>();
  readonly #places = new Map<Bucket, { drawer: Drawer; range: AskedRange | null; sign: string }>();
  /** How many ask the same range. */
  readonly #alike = new Map<string, number>();

  get size(): number {
    return this.#places.size;
  }

  put(bucket: Bucket, { ranges = [], keptFrom }: Filing): void {
    const [sign, range] = this.#rarestOf(ranges);
    const drawer = this.#drawerFor(keptFrom, range?.of ?? null);
    if (range === null) drawer.plain.add(bucket);
    else {
      drawer.ranges.add(bucket, range);
      this.#alike.set(sign, (this.#alike.get(sign) ?? 0) + 1);
    }
    this.#places.set(bucket, { drawer, range, sign });
  }

  delete(bucket: Bucket): void {
    const place = this.#places.get(bucket);
    if (!place) return;
    const { drawer, range, sign } = place;
    this.#places.delete(bucket);
    if (range === null) drawer.plain.delete(bucket);
    else {
      drawer.ranges.delete(bucket, range);
      const others = (this.#alike.get(sign) ?? 1) - 1;
      if (others > 0) this.#alike.set(sign, others);
      else this.#alike.delete(sign);
    }
    if (drawer.plain.size === 0 && drawer.ranges.isEmpty) this.#drawers.delete(drawer.name);
  }

  /** Shows the buckets that may be of interest. */
  look(seeker: Seeker, look: (bucket: Bucket) => void): void {
    for (const { keptFrom, of, plain, ranges } of this.#drawers.values()) {
      if (keptFrom && seeker.isKept(keptFrom)) continue;
      if (of === null) {
        for (const bucket of plain) look(bucket);
        continue;
      }
      const point = seeker.pointIn(of);
      if (point) ranges.at(point, look);
    }
  }

  /** Of the ranges that all must stand in, the one that fewest others here ask in the same way. */
  #rarestOf(ranges: readonly AskedRange[]): [sign: string, range: AskedRange | null] {
    let rarest: [string, AskedRange | null] = ['', null];
    let fewest = Number.POSITIVE_INFINITY;
    for (const range of ranges) {
      const sign = `${range.of} ${range.from} ${range.to}`;
      const alike = this.#alike.get(sign) ?? 0;
      if (alike >= fewest) continue;
      fewest = alike;
      rarest = [sign, range];
    }
    return rarest;
  }

  #drawerFor(keptFrom: KeptFrom | undefined, of: string | null): Drawer {
    const name = `${of} ${keptFrom?.name ?? ''}`;
    const found = this.#drawers.get(name);
    if (found) return found;
    const drawer = { name, keptFrom, of, plain: new Set<Bucket>(), ranges: new RangeIndex<Bucket>() };
    this.#drawers.set(name, drawer);
    return drawer;
  }
}
