/**
 * Notes how changes in memory are taken back; a turn is one. Whatever is shared and may change takes the journal of
 * the turn that changes it, so that a refused commit leaves no trace: there is no way to change it without an undo.
 */
export interface Journal {
  /** What is noted last is undone first. */
  onRollback(undo: () => void): void;
}

/** For what belongs to no turn: the replay at start-up, and what happens outside, such as a client that goes away. */
export const FOR_GOOD: Journal = { onRollback: () => {} };

/** A set that only a turn changes. */
export class JournaledSet<T> implements Iterable<T> {
  #members = new Set<T>();

  get size(): number {
    return this.#members.size;
  }

  has(member: T): boolean {
    return this.#members.has(member);
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#members.values();
  }

  add(journal: Journal, member: T): void {
    if (this.#members.has(member)) return;
    this.#members.add(member);
    journal.onRollback(() => this.#members.delete(member));
  }

  delete(journal: Journal, member: T): void {
    if (this.#members.delete(member)) journal.onRollback(() => this.#members.add(member));
  }

  clear(journal: Journal): void {
    if (this.#members.size === 0) return;
    const before = this.#members;
    this.#members = new Set();
    journal.onRollback(() => {
      this.#members = before;
    });
  }
}
