import type { Configuration } from '../../../machines/configuration.ts';
import type { Leader } from '../../../machines/reign.ts';

/** What a server sees of the store every second. */
export interface StoreSight {
  /** Of the last event that is committed; 0 where there is none. */
  lastEventId: number;
  /** Whether it is of the version that this program reads. */
  isOurs: boolean;
}

/**
 * A server that wants a store which another one may have. Where nobody wants it as one, a store that is in use is
 * refused.
 */
export interface Candidate {
  /** Another one has the store; told again as long as that is so. */
  leaderSeen(leader: Leader): void;
  /** The store answers, also while another one has it. */
  storeSeen(sight: StoreSight): void;
  /** The store is this one's, and nothing has been done with it yet. */
  storeTaken(): void;
  /** Another one has it now: this one cannot write any more. */
  epochOver(leader: Leader | null): void;
  /** What it was told other than the one that leads, by name; told again as long as that one leads. */
  differs(names: readonly string[]): void;
  /** What servers on one store have to be told alike, as it stands: files of credentials may be read again. */
  configuration(): Configuration;
  /** Where clients reach it; null until it listens. */
  readonly address: string | null;
  /** It does not wait for the store any longer. */
  readonly givesUp: AbortSignal;
}
