import { NotedPeers, type Peer } from '../../../machines/protocol/peers.ts';
import type { Journal } from '../turn/journal.ts';

/** The peers of other versions that were noted, also before the last restart. */
export class JournaledPeers {
  readonly #peers = new NotedPeers();

  isNew(peer: Peer): boolean {
    return this.#peers.isNew(peer);
  }

  add(journal: Journal, peer: Peer): void {
    this.#peers.add(peer);
    journal.onRollback(() => this.#peers.delete(peer));
  }
}
