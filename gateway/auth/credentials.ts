import { timingSafeEqual } from 'node:crypto';
import {
  ANONYMOUS,
  expandRights,
  missingRights,
  type Principal,
  type Right,
} from '../../machines/protocol/rights.ts';
import { StartError } from '../../machines/protocol/start-error.ts';
import { readAuthFile } from './auth-file.ts';
import type { Entry } from './entry.ts';
import { parsePrincipal } from './principal-flag.ts';
import { checkedDigest, digestOf } from './secret.ts';

export interface CredentialOptions {
  /** Values of `--principal`, each `NAME:TOKEN:ROLE[,ROLE]`. */
  principals?: readonly string[] | undefined;
  /** Path of `--auth-file`. */
  authFile?: string | undefined;
  /** The single `--token` that grants every right. */
  token?: string | undefined;
}

/** The name under which the holder of the single `--token` acts. */
const TOKEN_PRINCIPAL = 'admin';

/**
 * Who may do what (docs/semantics.md#rights). With nothing configured the server is open and everybody
 * is `ANONYMOUS`. Tokens are held as SHA-256 digests.
 */
export class Credentials {
  readonly #fixed: readonly Entry[];
  readonly #authFile: string | undefined;
  #entries: readonly Entry[];
  /** The digest by which each principal was identified; tells whether its credential is still valid. */
  readonly #digests = new WeakMap<Principal, Buffer>();
  readonly #watchers = new Set<() => void>();

  private constructor(fixed: readonly Entry[], authFile: string | undefined) {
    this.#fixed = fixed;
    this.#authFile = authFile;
    this.#entries = this.#read();
  }

  /**
   * Reads all that is configured.
   * @throws StartError that says which definition is wrong
   */
  static from(options: CredentialOptions = {}): Credentials {
    const fixed = (options.principals ?? []).map(parsePrincipal);
    if (options.token !== undefined) {
      fixed.push({
        digest: checkedDigest(options.token, '--token'),
        principal: { name: TOKEN_PRINCIPAL, rights: expandRights(['admin']) },
        source: '--token',
      });
    }
    return new Credentials(fixed, options.authFile);
  }

  /** Whether no credential is needed. */
  get open(): boolean {
    return this.#entries.length === 0;
  }

  /** Whom a token stands for; null when it is missing or unknown. Takes the same time for every token. */
  identify(token: string | undefined): Principal | null {
    if (this.open) return ANONYMOUS;
    if (token === undefined) return null;
    const digest = digestOf(token);
    let found: Principal | null = null;
    for (const entry of this.#entries) {
      if (timingSafeEqual(entry.digest, digest)) found = entry.principal;
    }
    return found;
  }

  /**
   * Whether the credential of an identified principal would still be let in where the right is asked for; false
   * once a reload has revoked the token or the right. For what goes on after its request was admitted.
   */
  stillGrants(principal: Principal, right: Right | null): boolean {
    if (right === null || this.open) return true;
    const digest = this.#digests.get(principal);
    const now = digest && this.#entries.find((entry) => entry.digest.equals(digest))?.principal;
    return now !== undefined && missingRights(now, [right]).length === 0;
  }

  /**
   * Reads the auth file again, as on SIGHUP, and tells the watchers. A file with a fault changes nothing.
   * @throws StartError with the fault of the file; the principals from before stay valid
   */
  reload(): void {
    this.#entries = this.#read();
    for (const watcher of this.#watchers) watcher();
  }

  /** Calls back after each reload, until the returned function is called. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  #read(): readonly Entry[] {
    const fromFile = this.#authFile === undefined ? [] : readAuthFile(this.#authFile);
    const entries = [...this.#fixed, ...fromFile];
    refuseSharedTokens(entries);
    for (const { principal, digest } of entries) this.#digests.set(principal, digest);
    return entries;
  }
}

function refuseSharedTokens(entries: readonly Entry[]): void {
  const seen = new Map<string, Entry>();
  for (const entry of entries) {
    const key = entry.digest.toString('hex');
    const other = seen.get(key);
    if (other) {
      throw new StartError('duplicate_token', `${other.source} and ${entry.source} have the same token`);
    }
    seen.set(key, entry);
  }
}
