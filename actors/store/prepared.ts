import type { Statement } from 'sqlite';
import type sqlite3 from 'sqlite3';
import type { Connection } from './open.ts';

/** The statements of a connection, each prepared once. Their texts are the program's own, so there are few. */
export class Prepared {
  readonly #connection: Connection;
  readonly #statements = new Map<string, Promise<Statement<sqlite3.Statement>>>();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async run(sql: string, ...params: unknown[]): Promise<void> {
    await (await this.#statement(sql)).run(...params);
  }

  async all<Rows>(sql: string, ...params: unknown[]): Promise<Rows> {
    return (await (await this.#statement(sql)).all(...params)) as Rows;
  }

  /** The first row; undefined when there is none. The statement is run to its end, so that it holds no snapshot. */
  async get<Row>(sql: string, ...params: unknown[]): Promise<Row | undefined> {
    return (await this.all<Row[]>(sql, ...params))[0];
  }

  async close(): Promise<void> {
    for (const statement of this.#statements.values()) await (await statement).finalize();
    this.#statements.clear();
  }

  #statement(sql: string): Promise<Statement<sqlite3.Statement>> {
    let prepared = this.#statements.get(sql);
    if (!prepared) {
      prepared = this.#connection.prepare(sql);
      this.#statements.set(sql, prepared);
      prepared.catch(() => this.#statements.delete(sql));
    }
    return prepared;
  }
}
