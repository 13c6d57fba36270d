import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { openStore } from '../../actors/server/check/open-store.ts';
import { PlainStatements } from '../../actors/server/store/plain-statements.ts';
import { Database } from '../../actors/server/store/postgres/connect.ts';
import { PooledQueries } from '../../actors/server/store/postgres/pooled-queries.ts';
import { differing, type Queries } from '../../actors/server/store/sql.ts';
import { type PostgresCluster, postgresCluster } from './postgres.ts';
import { postgresPrograms } from './postgres-programs.ts';

/**
 * For `JQ_TEST_STORE=postgresql npm test`, and the same of the crash loops: the servers of specifications have their
 * stores in a PostgreSQL of the run, instead of files of SQLite. Then the variable has its address.
 * @returns what is to be stopped when the run is over; null where nothing was asked for
 */
export async function startTestStore(): Promise<PostgresCluster | null> {
  if (process.env.JQ_TEST_STORE !== 'postgresql') return null;
  const cluster = await postgresCluster();
  process.env.JQ_TEST_STORE = await cluster.database();
  return cluster;
}

/** The same for the specifications of a file, whatever the run has. @returns its end */
export async function usePostgres(): Promise<() => Promise<void>> {
  if (process.env.JQ_TEST_STORE !== undefined) return async () => {};
  process.env.JQ_TEST_STORE = 'postgresql';
  const cluster = await startTestStore();
  return async () => {
    delete process.env.JQ_TEST_STORE;
    await cluster?.stop();
  };
}

/** Where the server of a state directory has its store, for `--store`; undefined: in that directory. */
export function storeOf(stateDir: string): string | undefined {
  const { JQ_TEST_STORE } = process.env;
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

/** Begins to see the store as it is now, and as nothing else until the look is over. */
export const SNAPSHOT = differing('BEGIN', 'BEGIN ISOLATION LEVEL REPEATABLE READ');

/**
 * Looks into the store of a state directory, beside its server or without one, through one connection.
 * @param address where it is, in PostgreSQL; undefined: in that directory
 */
export async function lookInto<T>(
  stateDir: string,
  look: (queries: Queries) => Promise<T>,
  address = storeOf(stateDir),
): Promise<T> {
  if (address === undefined) {
    const db = await openStore(join(stateDir, 'store.sqlite'), true);
    await db.exec('PRAGMA busy_timeout = 5000');
    return look(new PlainStatements(db)).finally(() => db.close());
  }
  const pool = (await Database.at(address)).pool('specification', 1, {});
  return look(new PooledQueries(pool, (fault) => fault)).finally(() => pool.end());
}
