import type { Statement } from 'sqlite';
import type sqlite3 from 'sqlite3';
import type { Connection } from './open.ts';
import { type Queries, type SqlText, textOf } from './sql.ts';

/** The statements of a connection, each prepared once. Their texts are the program's own, so there are few. */
export class PreparedStatements implements Queries {
  readonly #connection: Connection;
  readonly #statements = new Map<string, Promise<Statement<sqlite3.Statement>>>();
  #closed = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async run(sql: SqlText, ...params: unknown[]): Promise<void> {
    await (await this.#statement(textOf(sql, 'sqlite'))).run(...params);
  }

  async all<Rows>(sql: SqlText, ...params: unknown[]): Promise<Rows> {
    return (await (await this.#statement(textOf(sql, 'sqlite'))).all(...params)) as Rows;
  }

  /** The first row; undefined when there is none. The statement is run to its end, so that it holds no snapshot. */
  async get<Row>(sql: SqlText, ...params: unknown[]): Promise<Row | undefined> {
    return (await this.all<Row[]>(sql, ...params))[0];
  }

  /**
   * Who still asks, or is about to ask again, is refused from now on: a statement left over would keep the store open.
   */
  async close(): Promise<void> {
    this.#closed = true;
    const prepared = await Promise.allSettled(this.#statements.values());
    for (const statement of prepared) if (statement.status === 'fulfilled') await statement.value.finalize();
    this.#statements.clear();
  }

  #statement(sql: string): Promise<Statement<sqlite3.Statement>> {
    if (this.#closed) return Promise.reject(new Error('the store is closed'));
    let prepared = this.#statements.get(sql);
    if (!prepared) {
      prepared = this.#connection.prepare(sql);
      this.#statements.set(sql, prepared);
      prepared.catch(() => this.#statements.delete(sql));
    }
    return prepared;
  }
}
