import { MOST_PEERS, type Peer } from '../../machines/peers.ts';
import { type Journal, JournaledSet } from './journal.ts';

/** The peers of other versions that were noted. */
export class NotedPeers {
  readonly #versions = new Map<string, JournaledSet<string>>();

  /** Whether a peer is to be noted: it is new, and there are not too many of its role. */
  isNew({ role, version }: Peer): boolean {
    const versions = this.#versions.get(role);
    return !versions || (!versions.has(version) && versions.size < MOST_PEERS);
  }

  add(journal: Journal, { role, version }: Peer): void {
    const versions = this.#versions.get(role) ?? new JournaledSet<string>();
    this.#versions.set(role, versions);
    versions.add(journal, version);
  }
}
