/** Sequence numbers from the first to the last: those of one job's tasks, which were numbered together. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Where a queued task stands in the index. */
export interface Place {
  readonly key: number;
  readonly priority: number;
}

/**
 * Spans of the queue from which nothing is taken. Taking one out or putting it back says nothing of each of its
 * numbers: a number is put aside only when it comes to the head of its bucket, where it would be in the way.
 */
export class Withheld {
  /** By span, what was put aside of it. */
  readonly #aside = new Map<Span, Map<number, Place>>();

  add(span: Span): void {
    this.#aside.set(span, new Map());
  }

  /** What was put aside and is to go back to its place. */
  release(span: Span): Iterable<[seq: number, place: Place]> {
    const aside = this.#aside.get(span) ?? [];
    this.#aside.delete(span);
    return aside;
  }

  /** Puts a number aside if it is withheld. */
  putAside(seq: number, place: Place): boolean {
    for (const [{ from, to }, aside] of this.#aside) {
      if (seq < from || seq > to) continue;
      aside.set(seq, place);
      return true;
    }
    return false;
  }

  /** Forgets a number that was put aside; false when it was not. */
  delete(seq: number): boolean {
    for (const aside of this.#aside.values()) if (aside.delete(seq)) return true;
    return false;
  }

  /** How many numbers are put aside. */
  get held(): number {
    let held = 0;
    for (const aside of this.#aside.values()) held += aside.size;
    return held;
  }
}
