import type { Connection } from './open.ts';
import { type Queries, type SqlText, textOf } from './sql.ts';

/** A connection whose statements are prepared anew each time. */
export class PlainStatements implements Queries {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  all<Rows>(sql: SqlText, ...params: unknown[]): Promise<Rows> {
    return this.#connection.all(textOf(sql, 'sqlite'), ...params) as Promise<Rows>;
  }

  get<Row>(sql: SqlText, ...params: unknown[]): Promise<Row | undefined> {
    return this.#connection.get<Row>(textOf(sql, 'sqlite'), ...params);
  }
}
