import type { Pool } from 'pg';
import { type Queries, type SqlText, textOf } from '../sql.ts';
import { breaksConnection } from './faults.ts';
import { named } from './placeholders.ts';
import { toStored } from './texts.ts';

/** Tries of a read: sessions that lay idle may have ended meanwhile, as where the database was started anew or is another one now. */
const TRIES = 5;

/** Reads through the sessions of a pool, in each of which statements are prepared once. */
export class PooledQueries implements Queries {
  readonly #pool: Pool;
  readonly #asFault: (fault: unknown) => unknown;

  /** @param asFault what is said of a fault */
  constructor(pool: Pool, asFault: (fault: unknown) => unknown) {
    this.#pool = pool;
    this.#asFault = asFault;
  }

  async all<Rows>(sql: SqlText, ...params: unknown[]): Promise<Rows> {
    const statement = { ...named(textOf(sql, 'postgresql')), values: params.map(storable) };
    for (let tried = 1; ; tried++) {
      try {
        return (await this.#pool.query(statement)).rows as Rows;
      } catch (fault) {
        if (tried >= TRIES || !breaksConnection(fault) || this.#pool.ended) throw this.#asFault(fault);
      }
    }
  }

  async get<Row>(sql: SqlText, ...params: unknown[]): Promise<Row | undefined> {
    return (await this.all<Row[]>(sql, ...params))[0];
  }
}

export const storable = (value: unknown): unknown => (typeof value === 'string' ? toStored(value) : value);
