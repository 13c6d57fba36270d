import FlatQueue from 'flatqueue';
import type { Journal } from '../turn/journal.ts';

/** A queued task that must not be leased yet. */
export interface Waiter {
  seq: number;
  /** Second of the monotonic clock, on which it goes on while nobody can be heard. */
  at: number;
  /** What it is queued under from then on: a requirement, or an exclusion. */
  key: number;
  priority: number;
}

/** The tasks that wait after a failure. They are not in the queue, and take their old place there. */
export class Backoffs {
  readonly #waiting = new Map<number, Waiter>();
  /** By when they are due; entries of those that are gone are passed over. */
  readonly #order = new FlatQueue<number>();

  /** How many wait. */
  get size(): number {
    return this.#waiting.size;
  }

  has(seq: number): boolean {
    return this.#waiting.has(seq);
  }

  all(): Iterable<Waiter> {
    return this.#waiting.values();
  }

  /** When the first is due; null when nobody waits. */
  get next(): number | null {
    for (let seq = this.#order.peek(); seq !== undefined; seq = this.#order.peek()) {
      const at = this.#order.peekValue() as number;
      if (this.#waiting.get(seq)?.at === at) return at;
      this.#order.pop();
    }
    return null;
  }

  add(journal: Journal, waiter: Waiter): void {
    this.#add(waiter);
    journal.onRollback(() => this.#waiting.delete(waiter.seq));
  }

  /** Takes out a task; undefined when it does not wait. */
  remove(journal: Journal, seq: number): Waiter | undefined {
    const waiter = this.#waiting.get(seq);
    if (!waiter) return undefined;
    this.#waiting.delete(seq);
    journal.onRollback(() => this.#add(waiter));
    return waiter;
  }

  /** Takes out all whose time has come. */
  due(journal: Journal, now: number): Waiter[] {
    const due: Waiter[] = [];
    for (let at = this.next; at !== null && at <= now; at = this.next) {
      due.push(this.remove(journal, this.#order.peek() as number) as Waiter);
    }
    return due;
  }

  #add(waiter: Waiter): void {
    this.#waiting.set(waiter.seq, waiter);
    this.#order.push(waiter.seq, waiter.at);
  }
}
