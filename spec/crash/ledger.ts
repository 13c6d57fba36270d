/** What the server has acknowledged, as its clients remember it. */
export type Ack =
  | { what: 'job'; name: string; id: string; text: string }
  | { what: 'cancel'; job: string; status: string }
  | { what: 'retry'; job: string }
  | { what: 'worker'; id: string }
  | { what: 'start'; task: string; attempt: number }
  | { what: 'event'; task: string; token: string }
  | { what: 'complete'; task: string; job: string; attempt: number; worker: string; token: string }
  | { what: 'fail'; task: string; job: string; attempt: number; error: string; requeued: boolean }
  | { what: 'artifact'; id: string; sha256: string; size: number };

export type AckOf<W extends Ack['what']> = Extract<Ack, { what: W }>;

/**
 * The memory of the clients, which no crash of the server reaches. Acknowledgements are only ever appended; what
 * was meant is noted before it is sent, since an unanswered request may have been carried out.
 */
export class Ledger {
  readonly #acks: Ack[] = [];
  /** Names of jobs that were submitted, whether answered or not. */
  readonly submitted = new Set<string>();
  /** Ids of jobs whose cancellation was sent. */
  readonly cancelSent = new Set<string>();
  /** Ids of jobs whose retry was sent. */
  readonly retrySent = new Set<string>();
  /** Requests that were sent without ever getting an answer. */
  unanswered = 0;

  get size(): number {
    return this.#acks.length;
  }

  add(ack: Ack): void {
    this.#acks.push(ack);
  }

  /** All that has been acknowledged up to now; a store that is looked at later must show it. */
  read(): readonly Ack[] {
    return this.#acks.slice();
  }

  /** How many there are of each kind. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { what } of this.#acks) counts[what] = (counts[what] ?? 0) + 1;
    return counts;
  }
}

export const only = <W extends Ack['what']>(acks: readonly Ack[], what: W): AckOf<W>[] =>
  acks.filter((ack): ack is AckOf<W> => ack.what === what);
