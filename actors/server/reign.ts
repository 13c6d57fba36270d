import type { Logger } from 'pino';
import { type Actor, createActor } from 'xstate';
import { ClusterError } from '../../machines/protocol/errors.ts';
import { type Leader, type ReignEvent, reignMachine } from '../../machines/reign.ts';
import type { Candidate } from './store/candidate.ts';

const WORDS = {
  standing_by: 'stands by: another server has the store',
  taking_over: 'takes the store over',
  leading: 'leads',
  superseded: 'another server has taken the store over; this one cannot write any more',
} as const;

/** A server's own reign: its statechart, driven by what happens to the store, and what that means for those who ask. */
export class Reign implements Candidate {
  address: string | null = null;
  readonly #log: Logger;
  readonly #actor: Actor<typeof reignMachine> = createActor(reignMachine).start();
  readonly #end = new AbortController();
  #tellStoodBy: () => void = () => {};
  #tellSuperseded: (leader: Leader | null) => void = () => {};
  /** Resolves when it has to stand by for the first time. */
  readonly stoodBy = new Promise<void>((resolve) => {
    this.#tellStoodBy = resolve;
  });
  /** Resolves with who leads now, where that is known, when another one has taken over. */
  readonly superseded = new Promise<Leader | null>((resolve) => {
    this.#tellSuperseded = resolve;
  });

  constructor(log: Logger) {
    this.#log = log;
  }

  get state(): keyof typeof WORDS {
    return this.#actor.getSnapshot().value;
  }

  get leader(): Leader | null {
    return this.#actor.getSnapshot().context.leader;
  }

  /** What is said to whoever asks for anything; null where this server leads. */
  get refusal(): ClusterError | null {
    const { state, leader } = this;
    if (state === 'leading') return null;
    if (state === 'taking_over')
      return new ClusterError('standing_by', 'this server is taking over; try again in a moment');
    return new ClusterError('standing_by', `this server stands by; ${whoLeads(leader)}`);
  }

  get givesUp(): AbortSignal {
    return this.#end.signal;
  }

  /** It does not wait for the store any longer. */
  end(): void {
    this.#end.abort();
  }

  leaderSeen(leader: Leader): void {
    const before = this.leader;
    this.#tell({ type: 'LEADER_SEEN', leader });
    if (before?.place !== leader.place) this.#log.info({ leader }, WORDS.standing_by);
    this.#tellStoodBy();
  }

  storeTaken(): void {
    this.#tell({ type: 'STORE_TAKEN' });
    if (this.leader !== null) this.#log.info(WORDS.taking_over);
  }

  recovered(): void {
    this.#tell({ type: 'RECOVERED' });
    if (this.leader !== null) this.#log.info(WORDS.leading);
  }

  epochOver(leader: Leader | null): void {
    if (this.state === 'superseded') return;
    this.#tell({ type: 'EPOCH_OVER', leader });
    this.#log.error({ leader }, WORDS.superseded);
    this.#tellSuperseded(leader);
  }

  #tell(event: ReignEvent): void {
    this.#actor.send(event);
  }
}

/** For people: who leads, and where. */
export const whoLeads = (leader: Leader | null): string => {
  if (leader === null) return 'another one leads';
  return `the one that leads is ${leader.address === null ? '' : `at ${leader.address} `}(${leader.place})`;
};
