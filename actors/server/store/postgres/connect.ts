import { userInfo } from 'node:os';
import type { Client, ClientConfig, Pool } from 'pg';
import type { Connection } from 'pgpass';
import { StartError } from '../../../../machines/protocol/start-error.ts';
import { STANDBY } from './faults.ts';
import { addressesIn } from './hosts.ts';
import { destroy } from './sessions.ts';
import { valueTypes } from './values.ts';

/** Told when a session stands, or why it does not. */
type Connected = ((error: Error) => void) | ((error: null, client: Client) => void);

/** What a session is set to, whatever the database says. */
type Settings = Readonly<Record<string, string>>;

/**
 * Of every session, where nothing else is said of it: what a role or a database is set to for others would end sessions that are idle or at
 * work, have numbers and texts read otherwise than they were written, or hide a warning.
 */
const ALWAYS: Settings = {
  statement_timeout: '0',
  lock_timeout: '0',
  idle_session_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  default_transaction_isolation: 'read\\ committed',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  client_min_messages: 'notice',
};

/** Milliseconds until a connection has to stand: shorter where another host can be asked instead. */
const CONNECT_MS = { alone: 10_000, among: 3000 };

/** Variables of libpq that the driver does not read, and the parameters of an address that say the same. */
const TLS_VARIABLES = {
  PGSSLMODE: 'sslmode',
  PGSSLROOTCERT: 'sslrootcert',
  PGSSLCERT: 'sslcert',
  PGSSLKEY: 'sslkey',
};

/** Whether a text names a store in PostgreSQL. */
export const isPostgresAddress = (text: string): boolean => /^postgres(ql)?:\/\//.test(text);

/**
 * A database as its address names it. What the address leaves out is taken from the environment (`PGHOST`, `PGUSER`,
 * `PGPASSWORD` …) and from `.pgpass`, as in libpq. Where it names several hosts, all sessions are on the one that takes writes.
 */
export class Database {
  /** Hosts and name of the database, for people. */
  readonly place: string;
  readonly #addresses: readonly URL[];
  readonly #pg: typeof import('pg');
  /** Which of the hosts is asked first: the one that took writes last. */
  #at = 0;
  /** What is open, and on which host. */
  readonly #sessionsAt = new Map<Client, number>();

  private constructor(addresses: readonly URL[], pg: typeof import('pg')) {
    this.#addresses = addresses;
    this.#pg = pg;
    const clients = addresses.map((_, at) => new pg.Client(this.#config(at, '')));
    const hosts = clients.map(({ host, port }) => `${hostInWords(host)}:${port}`);
    if (!clients[0]?.user) throw new TypeError('it names no role, and PGUSER does not either');
    this.place = `postgres://${hosts.join(',')}/${clients[0]?.database}`;
  }

  /** @throws StartError `store_unreadable` for what is no address */
  static async at(text: string): Promise<Database> {
    const { default: pg } = await import('pg');
    try {
      assertNoService();
      pg.defaults.user ||= userHere();
      return new Database(addressesIn(text).map(withTls), pg as unknown as typeof import('pg'));
    } catch (error) {
      throw new StartError(
        'store_unreadable',
        `--store: cannot read the address (${(error as Error).message})`,
      );
    }
  }

  /** One session, on the first host that takes writes. Its end by itself is found out by who uses it. */
  async connect(name: string, settings: Settings): Promise<Client> {
    const OneSession = this.#sessions(name, settings);
    const faults: Error[] = [];
    while (faults.length < this.#addresses.length) {
      const client = new OneSession();
      try {
        await client.connect();
        return client;
      } catch (error) {
        if (error instanceof StartError) throw error;
        faults.push(error as Error);
      }
    }
    if (faults.length === 1) throw faults[0];
    const words = faults.map(({ message }) => message);
    throw new Error(`none of ${faults.length} hosts takes writes: ${words.join('; ')}`, { cause: faults });
  }

  /**
   * Sessions that are made as they are needed, and again where they broke.
   * @param answerMs milliseconds for which an answer is waited for; without end where it is left out
   */
  pool(name: string, max: number, settings: Settings, answerMs?: number): Pool {
    const Client = this.#sessions(name, settings, answerMs);
    const pool = new this.#pg.Pool({
      ...{ Client, max, idleTimeoutMillis: 60_000, connectionTimeoutMillis: this.#connectMs },
    });
    pool.on('error', () => {});
    return pool;
  }

  get #connectMs(): number {
    return this.#addresses.length > 1 ? CONNECT_MS.among : CONNECT_MS.alone;
  }

  /** Sessions on the host that is asked first when they are made. */
  #sessions(name: string, settings: Settings, answerMs?: number) {
    const database = this;
    return class extends this.#pg.Client {
      readonly at = database.#at;

      constructor() {
        super({
          ...database.#config(database.#at, name, settings),
          ...(answerMs !== undefined && { query_timeout: answerMs }),
        });
        this.on('error', () => {});
        // The driver looks there by itself, and warns that a later one will not.
        const how = this as unknown as { password: string | null | typeof passwordFor };
        how.password ??= passwordFor;
      }

      override connect(): Promise<Client>;
      override connect(callback: Connected): void;
      override connect(callback?: Connected): Promise<Client> | undefined {
        const done = this.#open();
        if (callback === undefined) return done;
        done.then(() => (callback as () => void)(), callback as (error: Error) => void);
        return undefined;
      }

      async #open(): Promise<Client> {
        try {
          await super.connect();
          await assertOurs(this, database.place);
        } catch (error) {
          this.end().catch(() => {});
          database.#leave(this.at);
          throw error;
        }
        database.#stay(this, this.at);
        return this;
      }
    };
  }

  /** All sessions are on this host from now on: others see, at best, what was there once. */
  #stay(session: Client, at: number): void {
    this.#at = at;
    for (const [other, where] of this.#sessionsAt) if (where !== at) destroy(other);
    this.#sessionsAt.set(session, at);
    session.once('end', () => this.#sessionsAt.delete(session));
  }

  /** The next host is asked first from now on, unless that is so already. */
  #leave(at: number): void {
    if (this.#at === at) this.#at = (at + 1) % this.#addresses.length;
  }

  #config(at: number, name: string, settings: Settings = {}): ClientConfig {
    const address = new URL(this.#addresses[at] as URL);
    const own = address.searchParams.get('options') ?? process.env.PGOPTIONS ?? '';
    const options = Object.entries({ ...ALWAYS, ...settings }).map(
      ([setting, value]) => `-c ${setting}=${value}`,
    );
    address.searchParams.set('options', [own, ...options].join(' ').trim());
    return {
      connectionString: address.href,
      application_name: name,
      keepAlive: true,
      connectionTimeoutMillis: this.#connectMs,
      types: valueTypes as unknown as NonNullable<ClientConfig['types']>,
    };
  }
}

/** As whom libpq comes where nothing else is said; empty where the system has no name for this user. */
function userHere(): string {
  try {
    return userInfo().username;
  } catch {
    return '';
  }
}

/** Who sets one means what it says, as who may come, and whether over TLS; the driver has no eye for it. */
function assertNoService(): void {
  const { PGSERVICE } = process.env;
  if (PGSERVICE)
    throw new TypeError(
      `PGSERVICE is set, and services are not read: unset it, and name what ${PGSERVICE} says in the address, or by PGHOST, PGUSER and so on`,
    );
}

/** What a file of passwords has for a session; undefined where there is none. */
async function passwordFor(connection: Connection): Promise<string | undefined> {
  const { default: pgpass } = await import('pgpass');
  return new Promise((resolve) => pgpass(connection, resolve));
}

function hostInWords(host: string): string {
  if (host.startsWith('/')) return encodeURIComponent(host);
  return host.includes(':') ? `[${host}]` : host;
}

/** What `sslmode` says has the meaning that libpq gives it. */
function withTls(address: URL): URL {
  const { searchParams } = address;
  for (const [variable, parameter] of Object.entries(TLS_VARIABLES)) {
    const value = process.env[variable];
    if (value && !searchParams.has(parameter)) searchParams.set(parameter, value);
  }
  if (searchParams.has('sslmode')) searchParams.set('uselibpqcompat', 'true');
  return address;
}

/**
 * A standby takes no writes, and what it shows may be older than what was answered. It may become one that does, so it is
 * a fault of the connection. Where the schema is not there that is named first, the tables of another store may lie in the next one.
 * @throws StartError `store_unreadable`
 */
async function assertOurs(client: Client, place: string): Promise<void> {
  const { rows } = await client.query<{ standby: number; schema: string | null; path: string }>(
    "SELECT pg_is_in_recovery() AS standby, current_schema() AS schema, current_setting('search_path') AS path",
  );
  const { standby, schema, path } = rows[0] as (typeof rows)[0];
  if (standby === 1)
    throw Object.assign(new Error('it is a standby, which takes no writes'), { code: STANDBY });
  const wanted = firstOf(path);
  if (wanted === schema || (wanted === '$user' && schema !== null)) return;
  throw new StartError(
    'store_unreadable',
    `cannot use ${place} as a store: the schema ${wanted} of search_path is not there, or its role may not use it; ` +
      `make it: CREATE SCHEMA ${wanted} AUTHORIZATION …; or leave it out`,
  );
}

/** The first name of a search path. */
function firstOf(path: string): string {
  const [, quoted, plain = ''] = /^\s*(?:"((?:[^"]|"")*)"|([^,]*))/.exec(path) ?? [];
  return quoted?.replaceAll('""', '"') ?? plain.trim().toLowerCase();
}
