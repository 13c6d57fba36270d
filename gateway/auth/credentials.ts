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
import { type Entry, idOf } from './entry.ts';
import { parsePrincipal } from './principal-flag.ts';
import { checkedDigest, digestOf } from './secret.ts';
import { readTokenFile } from './token-file.ts';

export interface CredentialOptions {
  /** Values of `--principal`, each `NAME:TOKEN:ROLE[,ROLE]`. */
  principals?: readonly string[] | undefined;
  /** Path of `--auth-file`. */
  authFile?: string | undefined;
  /** The single `--token` that grants every right. */
  token?: string | undefined;
  /** Path of a file that holds such a token alone. */
  tokenFile?: string | undefined;
}

/** The name under which the holder of the single `--token` acts. */
const TOKEN_PRINCIPAL = 'admin';

/** Milliseconds between two looks at the clock, which may be put forward. */
const LONGEST_WAIT = 30_000;

/**
 * Who may do what (docs/semantics.md#rights). With nothing configured the server is open and everybody
 * is `ANONYMOUS`. Tokens are held as SHA-256 digests.
 */
export class Credentials {
  readonly #options: CredentialOptions;
  /** Seconds since the epoch, by the wall clock: that is what a time of expiry means. */
  readonly #now: () => number;
  #entries: readonly Entry[];
  /** The digest by which each principal was identified; tells whether its credential is still valid. */
  readonly #digests = new WeakMap<Principal, Buffer>();
  readonly #watchers = new Set<() => void>();
  readonly #uses = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  private constructor(options: CredentialOptions, now: () => number) {
    this.#options = options;
    this.#now = now;
    this.#entries = this.#read();
  }

  /**
   * Reads all that is configured.
   * @param now stand-in for tests
   * @throws StartError that says which definition is wrong
   */
  static from(options: CredentialOptions = {}, now = () => Date.now() / 1000): Credentials {
    return new Credentials(options, now);
  }

  /** Whether no credential is needed. A file in which all have expired opens nothing. */
  get open(): boolean {
    return this.#entries.length === 0;
  }

  /**
   * What each principal may do and until when, by its name, with one byte of the digest of its token: servers see by it, but for once in 256
   * times, that a token is another one, and who reads it can confirm no guess.
   */
  get marks(): ReadonlyMap<string, string> {
    const marks = new Map<string, string[]>();
    for (const { digest, expiresAt, principal } of this.#entries) {
      const mark = `${principal.rights.join(' ')} ${expiresAt ?? 'ever'} ${digest.toString('hex', 0, 1)}`;
      marks.set(principal.name, [...(marks.get(principal.name) ?? []), mark]);
    }
    return new Map([...marks].map(([name, all]) => [name, all.sort().join(', ')]));
  }

  /** When each token was used last, in seconds since the epoch, by its id. */
  get uses(): ReadonlyMap<string, number> {
    return this.#uses;
  }

  /** Knows from now on when tokens were used before this process began; those that are gone are forgotten. */
  recall(uses: Iterable<readonly [id: string, lastUsedAt: number]>): void {
    for (const [id, at] of uses) this.#uses.set(id, Math.max(at, this.#uses.get(id) ?? 0));
    this.#forgetUses();
  }

  /** Whom a token stands for; null when it is missing, unknown or expired. Takes the same time for every token. */
  identify(token: string | undefined): Principal | null {
    if (this.open) return ANONYMOUS;
    const found = this.#find(token);
    if (!found || this.#isExpired(found)) return null;
    this.#uses.set(found.id, this.#now());
    return found.principal;
  }

  /** Whether a token was good once; for the words of a refusal. */
  hasExpired(token: string | undefined): boolean {
    const found = this.#find(token);
    return found !== null && this.#isExpired(found);
  }

  /**
   * Why the credential of an identified principal would no longer be let in where the right is asked for; null while it
   * would. For what goes on after its request was admitted.
   */
  lost(principal: Principal, right: Right | null): 'was revoked' | 'has expired' | null {
    if (right === null || this.open) return null;
    const digest = this.#digests.get(principal);
    const now = digest && this.#entries.find((entry) => entry.digest.equals(digest));
    if (!now || missingRights(now.principal, [right]).length > 0) return 'was revoked';
    return this.#isExpired(now) ? 'has expired' : null;
  }

  /**
   * Reads the files again, as on SIGHUP, and tells the watchers. A file with a fault changes nothing.
   * @throws StartError with the fault of the file; the principals from before stay valid
   */
  reload(): void {
    this.#entries = this.#read();
    this.#forgetUses();
    this.#tell();
  }

  /** Calls back when credentials may have become void, until the returned function is called. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    this.#waitForExpiry();
    return () => {
      this.#watchers.delete(watcher);
      this.#waitForExpiry();
    };
  }

  #find(token: string | undefined): Entry | null {
    if (token === undefined) return null;
    const digest = digestOf(token);
    let found: Entry | null = null;
    for (const entry of this.#entries) {
      if (timingSafeEqual(entry.digest, digest)) found = entry;
    }
    return found;
  }

  #isExpired({ expiresAt }: Entry): boolean {
    return expiresAt !== undefined && expiresAt <= this.#now();
  }

  #tell(): void {
    // What ends while they look was not void to them yet.
    const since = this.#now();
    for (const watcher of [...this.#watchers]) watcher();
    this.#waitForExpiry(since);
  }

  /** A stream of a token ends with the token, whether anybody sends a request then or not. */
  #waitForExpiry(since = this.#now()): void {
    clearTimeout(this.#timer);
    const now = this.#now();
    const ends = this.#entries.map(({ expiresAt }) => expiresAt ?? 0).filter((end) => end > since);
    if (this.#watchers.size === 0 || ends.length === 0) return;
    const wait = Math.min(Math.max(0, Math.min(...ends) - now) * 1000, LONGEST_WAIT);
    this.#timer = setTimeout(() => this.#tell(), Math.ceil(wait));
    this.#timer.unref();
  }

  #forgetUses(): void {
    const known = new Set(this.#entries.map(({ id }) => id));
    for (const id of this.#uses.keys()) if (!known.has(id)) this.#uses.delete(id);
  }

  #read(): readonly Entry[] {
    const { principals = [], authFile, token, tokenFile } = this.#options;
    const entries = [
      ...principals.map(parsePrincipal),
      ...(token === undefined ? [] : [allRights(token, '--token')]),
      ...(tokenFile === undefined
        ? []
        : [allRights(readTokenFile(tokenFile), `the token file ${tokenFile}`)]),
      ...(authFile === undefined ? [] : readAuthFile(authFile)),
    ];
    refuseSharedTokens(entries);
    for (const { principal, digest } of entries) this.#digests.set(principal, digest);
    return entries;
  }
}

function allRights(token: string, source: string): Entry {
  const digest = checkedDigest(token, source);
  const principal = { name: TOKEN_PRINCIPAL, rights: expandRights(['admin']) };
  return { digest, id: idOf(digest), principal, source };
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
