import type { Client, Pool } from 'pg';
import { PACKAGE_VERSION } from '../../../../gateway/version.ts';
import type { Leader } from '../../../../machines/reign.ts';
import { PLACE } from '../../../shared/place.ts';
import type { Candidate } from '../candidate.ts';
import { compareWithLeader } from './agreement.ts';
import type { Database } from './connect.ts';
import { latestVersion } from './migrate.ts';
import { LEASE_MS } from './sessions.ts';

/* Each server says every second that it is there. The one that leads counts on beside, as long as it works. */

/** Milliseconds between two signs of life. */
const BEAT_MS = 1000;
/** Signs of life between two looks at what the one that leads was told. */
const COMPARED_EVERY = 2;
/** Seconds after which a server that says nothing is forgotten. */
const FORGOTTEN = 60;

/** What sessions are called in which servers say that they are there, before which server it is. */
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
  if (!(await hasTable(client, 'leader'))) return null;
  const found = await client.query<Beat>(
    "SELECT server, place, nullif(address, '') AS address, beat FROM leader",
  );
  return found.rows[0] ?? null;
}

async function hasTable(client: Pick<Client, 'query'>, name: 'leader' | 'servers'): Promise<boolean> {
  const { rows } = await client.query<{ there: number }>(
    `SELECT to_regclass(format('%I.${name}', current_schema())) IS NOT NULL AS there`,
  );
  return rows[0]?.there === 1;
}

/** What the session is called in which a server says that it is there. */
const nameOf = (server: string): string => `${PRESENCE} ${server}`;

/** Whether a server has such a session. */
export async function isPresent(client: Pick<Client, 'query'>, server: string): Promise<boolean> {
  const { rowCount } = await client.query('SELECT 1 FROM pg_stat_activity WHERE application_name = $1', [
    nameOf(server),
  ]);
  return rowCount !== 0;
}

/** Says through the session that has the lock that it is given away: nobody is waited for. */
export async function resign(client: Client): Promise<void> {
  if ((await beatOf(client)) !== null) await client.query("UPDATE leader SET server = ''");
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

/** By the clock of the database, so that nobody compares two. */
const NOW = 'extract(epoch FROM clock_timestamp())::double precision';

const SIGN = `INSERT INTO servers (id, place, address, version, since, seen, event)
  SELECT $1::text, $2, $3, $4, ${NOW}, ${NOW}, coalesce((SELECT max(id) FROM events), 0)
  ON CONFLICT (id) DO UPDATE SET address = excluded.address, seen = excluded.seen, event = excluded.event
  RETURNING event, (SELECT version FROM schema_version) AS version`;

/** Counts on beside where this server is still the one that leads, and forgets those that are gone. */
const BEAT = `WITH beat AS (UPDATE leader SET beat = beat + 1, address = $3 WHERE server = $1::text RETURNING 1),
  gone AS (DELETE FROM servers WHERE seen < ${NOW} - ${FORGOTTEN} AND id <> $1::text)
  ${SIGN}, (SELECT count(*) FROM beat) AS beats`;

interface Sign {
  event: number;
  version: number;
  beats?: number;
}

/** Says for a server that it is there. */
export class Presence {
  readonly #server: string;
  readonly #pool: Pool;
  readonly #candidate: Candidate | undefined;
  readonly #timer: NodeJS.Timeout;
  #onOver: ((leader: Leader) => void) | null = null;
  #beating: Promise<void> | null = null;
  #hasPlace = false;
  #beats = 0;

  constructor(database: Database, server: string, candidate: Candidate | undefined) {
    this.#server = server;
    // Where there is no answer, the next sign goes through another connection: to another host, where there is one that takes writes by then.
    this.#pool = database.pool(nameOf(server), 1, COUNTING, LEASE_MS);
    this.#candidate = candidate;
    this.#timer = setInterval(() => void this.#next(), BEAT_MS);
    this.#timer.unref();
  }

  /**
   * From now on this server leads; resolves when that stands there.
   * @param onOver told once it stands there that another one does
   */
  leads(onOver: (leader: Leader) => void): Promise<void> {
    this.#onOver = onOver;
    return this.#next();
  }

  /** It does not lead any more, and counts on no further. */
  resigns(): void {
    this.#onOver = null;
  }

  /** The others need not wait until they miss it. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
    if (this.#hasPlace)
      await this.#pool.query('DELETE FROM servers WHERE id = $1', [this.#server]).catch(() => {});
    await this.#pool.end();
  }

  #next(): Promise<void> {
    // Where the database is away, turns notice it, and have words for it.
    this.#beating ??= this.#beat()
      .catch(() => {})
      .finally(() => {
        this.#beating = null;
      });
    return this.#beating;
  }

  async #beat(): Promise<void> {
    // A store that nobody of this version has led yet has none.
    this.#hasPlace ||= await hasTable(this.#pool, 'servers');
    if (!this.#hasPlace) return void this.#candidate?.storeSeen({ lastEventId: 0, isOurs: false });
    const onOver = this.#onOver;
    const values = [this.#server, PLACE, this.#candidate?.address ?? '', PACKAGE_VERSION];
    const { rows } = await this.#pool.query<Sign>(onOver ? BEAT : SIGN, values);
    const [{ event, version, beats }] = rows as [Sign];
    const isOurs = version === (await latestVersion());
    this.#candidate?.storeSeen({ lastEventId: event, isOurs });
    // One of another version may have no column for it.
    if (this.#candidate && isOurs && this.#beats++ % COMPARED_EVERY === 0)
      await compareWithLeader(this.#pool, this.#server, this.#candidate);
    if (onOver === null || beats !== 0) return;
    const beat = await beatOf(this.#pool);
    // Whoever has given the store away meanwhile has not lost it.
    if (beat && this.#onOver !== null) onOver({ place: beat.place, address: beat.address });
  }
}
