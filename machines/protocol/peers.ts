/** The roles that a peer may say it has (docs/protocol.md#versioning). */
const ROLES: readonly string[] = ['client', 'worker', 'server'];
/** Characters of a version that anybody would write. */
const LONGEST = 64;
/** Such as `1.2`, `v2.1.0rc1`, `2.1.dev3+g12ab`. */
const VERSION = /^v?\d{1,9}[0-9A-Za-z.+-]*$/;

/** Peers of a role that are noted at most, ever: who makes versions up fills no memory and no log with them. */
export const MOST_PEERS = 50;

/** A program of another version that speaks to the server (docs/protocol.md#versioning). */
export interface Peer {
  role: string;
  version: string;
}

/** The peer that two headers name; null for what is no version. A role that nobody knows is a client's. */
export function peerOf(role: string | undefined, version: string): Peer | null {
  if (version.length > LONGEST || !VERSION.test(version)) return null;
  return { role: role !== undefined && ROLES.includes(role) ? role : 'client', version };
}

/** The peers that were noted. */
export class NotedPeers {
  readonly #versions = new Map<string, Set<string>>();

  /** Whether a peer is to be noted: it is new, and there are not too many of its role. */
  isNew({ role, version }: Peer): boolean {
    const versions = this.#versions.get(role);
    return !versions || (!versions.has(version) && versions.size < MOST_PEERS);
  }

  add({ role, version }: Peer): void {
    this.#versions.set(role, (this.#versions.get(role) ?? new Set()).add(version));
  }

  delete({ role, version }: Peer): void {
    this.#versions.get(role)?.delete(version);
  }
}
