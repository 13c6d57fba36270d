import type { Pool } from 'pg';
import { ClusterError } from '../../../../machines/protocol/errors.ts';
import type { Queries } from '../sql.ts';
import { Database } from './connect.ts';
import { isOfStore } from './faults.ts';
import { latestVersion, versionOf } from './migrate.ts';
import { PooledQueries } from './pooled-queries.ts';

/** Of sessions that only read. */
export const READING = { jit: 'off', default_transaction_read_only: 'on' };

/** Sessions that answer GETs. */
const SESSIONS = { answers: 4, pages: 2 };

/** What is read of a store for clients, whoever leads. Each read sees every commit that was answered before. */
export class ReadSessions {
  readonly isShared = true;
  readonly queries: Queries;
  readonly pages: Queries;
  readonly #pools: readonly Pool[];

  constructor(database: Database) {
    const pool = (name: keyof typeof SESSIONS) =>
      database.pool(`jq-server: ${name}`, SESSIONS[name], READING);
    const [answers, pages] = [pool('answers'), pool('pages')];
    this.#pools = [answers, pages];
    this.queries = new PooledQueries(answers, asUnreadable);
    this.pages = new PooledQueries(pages, asUnreadable);
  }

  /** @param address `postgres://…` */
  static async open(address: string): Promise<ReadSessions> {
    return new ReadSessions(await Database.at(address));
  }

  /** Whether the store is of this program's version. */
  readonly isOurs = async (): Promise<boolean> =>
    (await versionOf(this.#pools[0] as Pool)) === (await latestVersion());

  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.end()));
  }
}

/** What a GET is told while the database does not answer, or refuses all that a server asks. */
const asUnreadable = (fault: unknown): unknown =>
  isOfStore(fault)
    ? new ClusterError('store_unavailable', 'the store cannot be read at the moment; try again', {
        cause: fault,
      })
    : fault;
