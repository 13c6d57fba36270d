import type { Client, ClientConfig, Pool } from 'pg';
import { StartError } from '../../../../machines/protocol/start-error.ts';
import { valueTypes } from './values.ts';

/** What a session is set to, whatever the database says. */
type Settings = Readonly<Record<string, string>>;

/** Milliseconds until a connection has to stand. */
const CONNECT_MS = 10_000;

/** Variables of libpq that the driver has no eye for, and the parameters of an address that say the same. */
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
 * `PGPASSWORD` …) and from `.pgpass`, as in libpq.
 */
export class Database {
  readonly #address: string;
  /** Host and name of the database, for people. */
  readonly place: string;
  readonly #pg: typeof import('pg');

  private constructor(address: string, pg: typeof import('pg')) {
    this.#address = address;
    this.#pg = pg;
    const { host, port, database } = new pg.Client(this.#config(''));
    this.place = `postgres://${host.startsWith('/') ? encodeURIComponent(host) : host}:${port}/${database}`;
  }

  /** @throws StartError `store_unreadable` for what is no address */
  static async at(text: string): Promise<Database> {
    const { default: pg } = await import('pg');
    try {
      return new Database(withTls(text), pg as unknown as typeof import('pg'));
    } catch (error) {
      throw new StartError(
        'store_unreadable',
        `--store: cannot read the address (${(error as Error).message})`,
      );
    }
  }

  /** One session. Its end by itself is found out by who uses it. */
  async connect(name: string, settings: Settings): Promise<Client> {
    const client = new this.#pg.Client(this.#config(name, settings));
    client.on('error', () => {});
    try {
      await client.connect();
      return client;
    } catch (error) {
      client.end().catch(() => {});
      throw error;
    }
  }

  /** Sessions that are made as they are needed, and again where they broke. */
  pool(name: string, max: number, settings: Settings): Pool {
    const pool = new this.#pg.Pool({ ...this.#config(name, settings), max, idleTimeoutMillis: 60_000 });
    pool.on('error', () => {});
    pool.on('connect', (client) => client.on('error', () => {}));
    return pool;
  }

  #config(name: string, settings: Settings = {}): ClientConfig {
    const address = new URL(this.#address);
    const own = address.searchParams.get('options') ?? process.env.PGOPTIONS ?? '';
    const options = Object.entries(settings).map(([setting, value]) => `-c ${setting}=${value}`);
    address.searchParams.set('options', [own, ...options].join(' ').trim());
    return {
      connectionString: address.href,
      application_name: name,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS,
      types: valueTypes as unknown as NonNullable<ClientConfig['types']>,
    };
  }
}

/** What `sslmode` says has the meaning that libpq gives it. */
function withTls(text: string): string {
  const address = new URL(text);
  const { searchParams } = address;
  for (const [variable, parameter] of Object.entries(TLS_VARIABLES)) {
    const value = process.env[variable];
    if (value && !searchParams.has(parameter)) searchParams.set(parameter, value);
  }
  if (searchParams.has('sslmode')) searchParams.set('uselibpqcompat', 'true');
  return address.href;
}
