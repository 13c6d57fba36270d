import type { Bucket } from './bucket.ts';

/** Unused entries that a list may hold, beside as many as it uses. */
const SPARE = 64;

/** Buckets in the order in which each last became worth a look, for those who have seen all up to some moment. */
export class Arrivals {
  #buckets: Bucket[] = [];
  /** When each was noted; a bucket that was noted again later stands twice, and only the last counts. */
  #moments: number[] = [];
  #most = SPARE;

  get length(): number {
    return this.#buckets.length;
  }

  note(bucket: Bucket): void {
    if (this.#buckets.length >= this.#most) this.#tidy();
    this.#buckets.push(bucket);
    this.#moments.push(bucket.arrived);
  }

  /** Shows those that arrived after a moment, the last first. There may be thousands: it is a plain loop. */
  since(moment: number, look: (bucket: Bucket) => void): void {
    for (let i = this.#buckets.length - 1; i >= 0 && (this.#moments[i] as number) > moment; i--) {
      const bucket = this.#buckets[i] as Bucket;
      if (bucket.arrived === this.#moments[i] && !bucket.isEmpty) look(bucket);
    }
  }

  #tidy(): void {
    const counts = this.#buckets.map((bucket, i) => bucket.arrived === this.#moments[i] && !bucket.isEmpty);
    this.#buckets = this.#buckets.filter((_, i) => counts[i]);
    this.#moments = this.#moments.filter((_, i) => counts[i]);
    this.#most = SPARE + 2 * this.#buckets.length;
  }
}
