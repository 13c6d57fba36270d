import { setImmediate as nextTick } from 'node:timers/promises';
import type { Envelope } from './envelope.ts';

/** Most envelopes in one turn, which bounds how long the first of them waits for the last. */
const TURN_LIMIT = 2000;

/**
 * What waits for the supervisor, drained in turns, one at a time (docs/decisions/0020-one-turn-at-a-time.md): what
 * arrives while a turn is handled and written waits, and is the next one. So commits gather what comes meanwhile,
 * without a timer.
 */
export class Mailbox {
  readonly #takeTurn: (envelopes: Envelope[]) => Promise<void>;
  readonly #envelopes: Envelope[] = [];
  readonly #visits: (() => Promise<void>)[] = [];
  #draining: Promise<void> | null = null;

  /** @param takeTurn handles envelopes up to their answers; it does not reject */
  constructor(takeTurn: (envelopes: Envelope[]) => Promise<void>) {
    this.#takeTurn = takeTurn;
  }

  /** Envelopes that no turn has taken yet. */
  get size(): number {
    return this.#envelopes.length;
  }

  enqueue(envelope: Envelope): void {
    this.#envelopes.push(envelope);
    this.#draining ??= this.#drain();
  }

  /** Runs something between two turns, when what is in memory is what is committed. */
  betweenTurns<T>(visit: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#visits.push(() => visit().then(resolve, reject));
      this.#draining ??= this.#drain();
    });
  }

  /** Null when nothing is left to do; else resolves when that is so. */
  get idle(): Promise<void> | null {
    return this.#draining;
  }

  async #drain(): Promise<void> {
    while (this.#envelopes.length + this.#visits.length > 0) {
      // What arrives in the same round of the event loop is handled together.
      await nextTick();
      await this.#visits.shift()?.();
      const envelopes = this.#envelopes.splice(0, TURN_LIMIT);
      if (envelopes.length > 0) await this.#takeTurn(envelopes);
    }
    // In the same step as the look at the empty mailbox, so that no envelope falls in between.
    this.#draining = null;
  }
}
