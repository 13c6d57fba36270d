import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
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
