import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from 'pg';
import { StartError } from '../../../../machines/protocol/start-error.ts';
import { FORBIDDEN, stateOf } from './faults.ts';

const MIGRATIONS = new URL('./schema/', import.meta.url);

/** The oldest version that is specified, as `server_version_num` says it. */
const OLDEST = 150_000;

interface Facts {
  version: number;
  encoding: string;
  /** How many sessions this role may have at once. */
  sessions: number;
}

/** That a server has, for a minute after it has taken over. */
const SESSIONS = 16;

/** Superusers have those that are kept for them, and no limits. */
const MOST_SESSIONS = `(SELECT CASE WHEN rolsuper THEN all_of_them ELSE least(all_of_them
      - current_setting('superuser_reserved_connections')::bigint, nullif(rolconnlimit, -1), nullif(datconnlimit, -1)) END
    FROM pg_roles, pg_database, (SELECT current_setting('max_connections')::bigint AS all_of_them) AS of
    WHERE rolname = current_user AND datname = current_database())`;

const refuse = (place: string, why: string): never => {
  throw new StartError('store_unreadable', `cannot use ${place} as a store: ${why}`);
};

/**
 * Nothing may be acknowledged before it is on the disk. What is true of a session stays so, whatever the database is set to meanwhile.
 * @throws StartError `store_unreadable`
 */
export async function assertDurable(client: Client, place: string): Promise<void> {
  const { rows } = await client.query<{ synchronous: string; fsync: string }>(
    `SELECT set_config('synchronous_commit', current_setting('synchronous_commit'), false) AS synchronous,
            current_setting('fsync') AS fsync`,
  );
  const [{ synchronous, fsync }] = rows as [(typeof rows)[0] & object];
  if (synchronous === 'off')
    refuse(place, 'synchronous_commit is off: what is acknowledged could be lost; set it to on');
  if (fsync === 'off') refuse(place, 'fsync is off: what is acknowledged could be lost; set it to on');
}

/**
 * Whether a database can be a store.
 * @throws StartError `store_unreadable`
 */
export async function assertUsable(client: Client, place: string): Promise<void> {
  const { rows } = await client.query<Facts>(
    `SELECT current_setting('server_version_num')::bigint AS version, current_setting('server_encoding') AS encoding,
            ${MOST_SESSIONS} AS sessions`,
  );
  const facts = rows[0] as Facts;
  if (facts.version < OLDEST)
    refuse(place, `it is PostgreSQL ${Math.floor(facts.version / 10_000)}; 15 or newer is needed`);
  if (facts.encoding !== 'UTF8') refuse(place, `its encoding is ${facts.encoding}; make a database in UTF8`);
  if (facts.sessions < SESSIONS)
    refuse(
      place,
      `it lets this role have ${facts.sessions} sessions, and a server needs ${SESSIONS}: raise max_connections, or the limit of the role or the database`,
    );
  await assertDurable(client, place);
}

/** The numbered migrations of this program, in order. */
async function migrations(): Promise<{ version: number; path: string }[]> {
  const folder = fileURLToPath(MIGRATIONS);
  const names = (await readdir(folder)).filter((name) => /^\d{4}-.*\.sql$/.test(name)).sort();
  return names.map((name) => ({ version: Number(name.slice(0, 4)), path: join(folder, name) }));
}

/** The version of the store that this program reads and writes. */
export function latestVersion(): Promise<number> {
  latest ??= migrations().then((known) => known.at(-1)?.version ?? 0);
  return latest;
}

let latest: Promise<number> | null = null;

/**
 * Brings the store to this program's version: each migration in a transaction of its own together with its number.
 * Whoever calls it has the lock of the store.
 * @returns the version that it had, and the one that it has
 * @throws StartError `store_too_new`; `store_too_old` where this role may not change it
 */
export async function migrate(client: Client, place: string): Promise<{ from: number; to: number }> {
  const known = await migrations();
  const to = known.at(-1)?.version ?? 0;
  const from = await versionOf(client);
  if (from > to)
    throw new StartError(
      'store_too_new',
      `the store ${place} has version ${from}, newer than this program (${to}); install the newer jq-cluster, or choose another --store`,
    );
  try {
    for (const { version, path } of known.filter((migration) => migration.version > from))
      await apply(client, version, await readFile(path, 'utf8'));
  } catch (error) {
    if (stateOf(error) !== FORBIDDEN) throw error;
    throw new StartError(
      'store_too_old',
      `the store ${place} has version ${from}, and this role may not bring it to ${to}; run, as one that may: jq-server migrate --store ADDRESS`,
    );
  }
  return { from, to };
}

/** Every table has to be read and written. @throws StartError `store_unreadable` where this role may not */
export async function assertRights(client: Client, place: string): Promise<void> {
  const lacks = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'].map(
    (right) => `NOT has_table_privilege(oid, '${right}')`,
  );
  const { rows } = await client.query<{ name: string; schema: string; role: string }>(
    `SELECT relname AS name, quote_ident(current_schema()) AS schema, quote_ident(current_user) AS role FROM pg_class
     WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND (${lacks.join(' OR ')}) ORDER BY relname`,
  );
  if (rows[0] === undefined) return;
  const { schema, role } = rows[0];
  const names = rows.slice(0, 3).map(({ name }) => name);
  throw new StartError(
    'store_unreadable',
    `cannot use ${place} as a store: the role ${role} may not read and write all of its tables (${names.join(', ')}${rows.length > 3 ? ', …' : ''}); ` +
      `as their owner: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
  );
}

async function apply(client: Client, version: number, sql: string): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query('CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL)');
    await client.query(sql);
    await client.query('DELETE FROM schema_version');
    await client.query('INSERT INTO schema_version VALUES ($1)', [version]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** 0 where there is no store yet. */
export async function versionOf(client: Pick<Client, 'query'>): Promise<number> {
  const { rows } = await client.query<{ there: number }>(
    // Not one of another schema, which the path may name behind it.
    "SELECT to_regclass(format('%I.schema_version', current_schema())) IS NOT NULL AS there",
  );
  if (rows[0]?.there !== 1) return 0;
  const found = await client.query<{ version: number }>('SELECT version FROM schema_version');
  return found.rows[0]?.version ?? 0;
}
