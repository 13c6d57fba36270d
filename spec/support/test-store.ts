import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { openStore } from '../../actors/server/check/open-store.ts';
import { PlainStatements } from '../../actors/server/store/plain-statements.ts';
import { Database } from '../../actors/server/store/postgres/connect.ts';
import { PooledQueries } from '../../actors/server/store/postgres/pooled-queries.ts';
import type { Queries } from '../../actors/server/store/sql.ts';
import { postgresPrograms } from './postgres.ts';

/**
 * The address of a PostgreSQL in which the servers of specifications have their stores, instead of files of SQLite:
 * `JQ_TEST_STORE=postgresql npm test`.
 */
const { JQ_TEST_STORE } = process.env;

/** Where the server of a state directory has its store, for `--store`; undefined: in that directory. */
export function storeOf(stateDir: string): string | undefined {
  if (JQ_TEST_STORE === undefined) return undefined;
  const name = `jq_${createHash('sha256').update(stateDir).digest('hex').slice(0, 24)}`;
  const address = new URL(JQ_TEST_STORE);
  const { hostname, port, username } = address;
  const createdb = join(postgresPrograms() ?? '', 'createdb');
  const made = spawnSync(createdb, ['-h', hostname, '-p', port, '-U', username, name], { encoding: 'utf8' });
  if (made.status !== 0 && !made.stderr.includes('already exists')) throw new Error(made.stderr);
  address.pathname = `/${name}`;
  return address.href;
}

/** Looks into the store of a state directory, beside its server or without one. */
export async function lookInto<T>(stateDir: string, look: (queries: Queries) => Promise<T>): Promise<T> {
  const address = storeOf(stateDir);
  if (address === undefined) {
    const db = await openStore(join(stateDir, 'store.sqlite'), true);
    return look(new PlainStatements(db)).finally(() => db.close());
  }
  const pool = (await Database.at(address)).pool('specification', 1, {});
  return look(new PooledQueries(pool, (fault) => fault)).finally(() => pool.end());
}
