import type { Client, Pool, QueryConfig } from 'pg';
import type { Leader } from '../../../../machines/reign.ts';
import type { Database } from './connect.ts';
import { PLACE } from './leadership.ts';
import { LEASE_MS } from './sessions.ts';

/* A server that leads counts on in the store, as long as it works. */

/** Milliseconds between two counts. */
const BEAT_MS = 1000;

/** What the session is called in which a server counts on. */
export const PRESENCE = 'jq-server: presence';

/** A count that is lost with the database's machine is of no use afterwards. */
const COUNTING = { synchronous_commit: 'off', jit: 'off', statement_timeout: '5000' };

/** The row of the one that leads, as it stands. */
export interface Beat extends Leader {
  server: string;
  beat: number;
}

/** Null where the store has no such table yet, as one that an earlier program made. */
export async function beatOf(client: Pick<Client, 'query'>): Promise<Beat | null> {
  const { rows } = await client.query<{ there: number }>(
    "SELECT to_regclass(format('%I.leader', current_schema())) IS NOT NULL AS there",
  );
  if (rows[0]?.there !== 1) return null;
  const found = await client.query<Beat>(
    "SELECT server, place, nullif(address, '') AS address, beat FROM leader",
  );
  return found.rows[0] ?? null;
}

/** Notes who leads from now on, through the session that has the lock: nobody else can do so meanwhile. */
export async function noteLeader(client: Client, server: string, address: string | null): Promise<void> {
  if ((await beatOf(client)) === null) return;
  await client.query('UPDATE leader SET server = $1, place = $2, address = $3, beat = beat + 1', [
    server,
    PLACE,
    address ?? '',
  ]);
}

/** Counts on for a server that leads. */
export class Presence {
  readonly #server: string;
  readonly #pool: Pool;
  readonly #address: () => string | null;
  readonly #onOver: (leader: Leader) => void;
  readonly #timer: NodeJS.Timeout;
  #beating: Promise<void> | null = null;

  /** @param onOver told once it stands there that another one leads */
  constructor(
    database: Database,
    server: string,
    address: () => string | null,
    onOver: (leader: Leader) => void,
  ) {
    this.#server = server;
    this.#pool = database.pool(PRESENCE, 1, COUNTING);
    this.#address = address;
    this.#onOver = onOver;
    this.#timer = setInterval(() => {
      // Where the database is away, turns notice it, and have words for it.
      this.#beating ??= this.#beat()
        .catch(() => {})
        .finally(() => {
          this.#beating = null;
        });
    }, BEAT_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
    await this.#pool.end();
  }

  async #beat(): Promise<void> {
    const { rowCount } = await this.#pool.query(counted(this.#server, this.#address() ?? ''));
    if (rowCount !== 0) return;
    const { rows } = await this.#pool.query<Beat>(
      "SELECT server, place, nullif(address, '') AS address, beat FROM leader",
    );
    if (rows[0]) this.#onOver({ place: rows[0].place, address: rows[0].address });
  }
}

/** Where it is not answered, the next one goes through another connection: to another host, where there is one that takes writes by then. */
const counted = (server: string, address: string): QueryConfig & { query_timeout: number } => ({
  text: 'UPDATE leader SET beat = beat + 1, address = $2 WHERE server = $1',
  values: [server, address],
  query_timeout: LEASE_MS,
});
