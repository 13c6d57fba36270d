import type { Logger } from 'pino';
import { type Actor, createActor } from 'xstate';
import type { Leadership } from '../../gateway/leadership.ts';
import type { Configuration } from '../../machines/configuration.ts';
import { ClusterError } from '../../machines/protocol/errors.ts';
import { type Leader, type ReignEvent, reignMachine } from '../../machines/reign.ts';
import type { Candidate, StoreSight } from './store/candidate.ts';

const WORDS = {
  standing_by: 'stands by: another server has the store',
  taking_over: 'takes the store over',
  leading: 'leads',
  superseded: 'another server has taken the store over; this one cannot write any more',
} as const;

/** Milliseconds after which a store that was not seen is taken for gone. */
const SIGHT_MS = 5_000;

/** A server's own reign: its statechart, driven by what happens to the store, and what that means for those who ask. */
export class Reign implements Candidate, Leadership {
  readonly #log: Logger;
  readonly configuration: () => Configuration;
  readonly #actor: Actor<typeof reignMachine> = createActor(reignMachine).start();
  readonly #end = new AbortController();
  readonly #listeners = new Set<() => void>();
  #address: string | null = null;
  /** What it was told otherwise than the one that leads, when that was compared last. */
  #differs = '';
  /** Who leads, as those know it who send requests on; the same as long as that is so. */
  #target: { key: string; url: string } | null = null;
  #sight: { isOurs: boolean; at: number } = { isOurs: false, at: performance.now() };
  /** Whether the store is one that is looked for every second. */
  #looks = false;
  #tellStoodBy: () => void = () => {};
  #tellSuperseded: (leader: Leader | null) => void = () => {};
  /** Told of the last event of the store, every second while another server leads. */
  onEvents: (lastEventId: number) => void = () => {};
  /** Resolves when it has to stand by for the first time. */
  readonly stoodBy = new Promise<void>((resolve) => {
    this.#tellStoodBy = resolve;
  });
  /** Resolves with who leads now, where that is known, when another one has taken over. */
  readonly superseded = new Promise<Leader | null>((resolve) => {
    this.#tellSuperseded = resolve;
  });

  constructor(log: Logger, configuration: () => Configuration) {
    this.#log = log;
    this.configuration = configuration;
  }

  get state(): keyof typeof WORDS {
    return this.#actor.getSnapshot().value;
  }

  /** The other one that leads, or led last. */
  get other(): Leader | null {
    return this.#actor.getSnapshot().context.leader;
  }

  get leads(): boolean {
    return this.state === 'leading';
  }

  get leader(): { readonly url: string } | null {
    return this.#target;
  }

  get refusal(): ClusterError {
    const { state, other } = this;
    if (state === 'taking_over')
      return new ClusterError('standing_by', 'this server is taking over; try again in a moment');
    return new ClusterError('standing_by', `this server stands by; ${whoLeads(other)}`);
  }

  /** Whether the store can be read, and is of this program's version, as far as was seen lately. */
  get isReadable(): boolean {
    return this.#sight.isOurs && this.seesStore;
  }

  get seesStore(): boolean {
    return performance.now() - this.#sight.at < SIGHT_MS;
  }

  /** Whether it was seen before, and is not any more; a store that nobody else can have is not looked for. */
  get missesStore(): boolean {
    return this.#looks && !this.seesStore;
  }

  get address(): string | null {
    return this.#address;
  }

  set address(address: string | null) {
    this.#address = address;
    this.#point();
  }

  get givesUp(): AbortSignal {
    return this.#end.signal;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** It does not wait for the store any longer. */
  end(): void {
    this.#end.abort();
  }

  leaderSeen(leader: Leader): void {
    const before = this.other;
    this.#tell({ type: 'LEADER_SEEN', leader });
    if (before?.place !== leader.place) this.#log.info({ leader }, WORDS.standing_by);
    this.#tellStoodBy();
  }

  storeSeen({ lastEventId, isOurs }: StoreSight): void {
    this.#sight = { isOurs, at: performance.now() };
    this.#looks = true;
    if (isOurs) this.onEvents(lastEventId);
  }

  differs(names: readonly string[]): void {
    const list = names.join(', ');
    if (list === this.#differs) return;
    this.#differs = list;
    const who = whoLeads(this.other);
    if (list === '') this.#log.info('was told the same as the one that leads');
    else this.#log.warn({ differs: names }, `was told otherwise than the server that leads: ${list}; ${who}`);
  }

  storeTaken(): void {
    this.#tell({ type: 'STORE_TAKEN' });
    if (this.other !== null) this.#log.info(WORDS.taking_over);
  }

  recovered(): void {
    this.#tell({ type: 'RECOVERED' });
    if (this.other !== null) this.#log.info(WORDS.leading);
  }

  epochOver(leader: Leader | null): void {
    if (this.state === 'superseded') return;
    this.#tell({ type: 'EPOCH_OVER', leader });
    this.#log.error({ leader }, WORDS.superseded);
    this.#tellSuperseded(leader);
  }

  #tell(event: ReignEvent): void {
    this.#actor.send(event);
    this.#point();
  }

  #point(): void {
    const url = this.#urlOfLeader();
    const key = `${url} ${this.leads ? '' : this.other?.place}`;
    if (url === null ? this.#target === null : key === this.#target?.key) return;
    this.#target = url === null ? null : { key, url };
    for (const tell of this.#listeners) tell();
  }

  #urlOfLeader(): string | null {
    if (this.state === 'taking_over') return null;
    return this.leads ? this.#address : (this.other?.address ?? null);
  }
}

/** For people: who leads, and where. */
export const whoLeads = (leader: Leader | null): string => {
  if (leader === null) return 'another one leads';
  return `the one that leads is ${leader.address === null ? '' : `at ${leader.address} `}(${leader.place})`;
};
