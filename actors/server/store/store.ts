import { join } from 'node:path';
import type { Changes } from './changes.ts';
import type { Table } from './columns.ts';
import { type Connection, openReader, openWriter } from './open.ts';
import { PreparedStatements } from './prepared-statements.ts';
import { fitsOneStatement, partsOf } from './split-changes.ts';
import { cellsOf, REQUEST_SQL, viewFor } from './turn-sql.ts';

/** Where commits can be made to fail, or to be slow, in tests. */
export interface StoreHooks {
  /** Called before the transaction begins. */
  beforeCommit?(): Promise<void>;
  /** Called before the store is tried, in the place of `beforeCommit` where it is given. */
  beforeProbe?(): Promise<void>;
  /** Called when the transaction is durable, before anybody is answered. */
  afterCommit?(): Promise<void>;
}

/** SQLite's number for it. */
const INCREMENTAL = 2;

/** The durable store: one connection that writes turns, one that loads rows for them. */
export class Store {
  readonly path: string;
  /** Loads rows for turns. */
  readonly reader: Connection;
  /** Answers the GETs, so that a long list does not hold up a turn. */
  readonly queries: PreparedStatements;
  readonly #writer: Connection;
  /**
   * The same connection, for pages of events, each with a statement of its own. Through a shared one hundreds of
   * streams that read their history are served so closely after each other that the garbage collection falls behind.
   */
  readonly pages: Connection;
  readonly #hooks: StoreHooks;
  readonly #writes: PreparedStatements;
  readonly #loads: PreparedStatements;

  private constructor(
    path: string,
    writer: Connection,
    reader: Connection,
    queries: Connection,
    hooks: StoreHooks,
  ) {
    this.path = path;
    this.#writer = writer;
    this.#writes = new PreparedStatements(writer);
    this.#loads = new PreparedStatements(reader);
    this.reader = reader;
    this.pages = queries;
    this.queries = new PreparedStatements(queries);
    this.#hooks = hooks;
  }

  /** @throws StartError when the store cannot be used */
  static async open(stateDir: string, hooks: StoreHooks = {}): Promise<Store> {
    const path = join(stateDir, 'store.sqlite');
    const writer = await openWriter(path);
    return new Store(path, writer, await openReader(path), await openReader(path), hooks);
  }

  /** Writes everything in one transaction and returns once it is durable. When it rejects, nothing happened. */
  async commit(changes: Changes): Promise<void> {
    await this.#hooks.beforeCommit?.();
    if (fitsOneStatement(changes)) await this.#write(changes);
    else await this.#writeInParts(changes);
    await this.#hooks.afterCommit?.();
  }

  /** Between two parts the event loop serves others. */
  async #writeInParts(changes: Changes): Promise<void> {
    await this.#writes.run('BEGIN IMMEDIATE');
    try {
      for (const { job_id, request } of changes.job_requests)
        await this.#writes.run(REQUEST_SQL, job_id, request);
      for (const part of partsOf({ ...changes, job_requests: [] })) await this.#write(part);
      for (const { sql, params } of changes.further) await this.#writes.run(sql, ...params);
      await this.#writes.run('COMMIT');
    } catch (error) {
      // After some faults (a full disk) SQLite has rolled back already, and says so.
      await this.#writes.run('ROLLBACK').catch(() => {});
      throw error;
    }
  }

  /** One statement; outside a transaction it is one by itself. */
  #write(changes: Changes): Promise<void> {
    const { sql, lists } = viewFor(changes);
    const documents = lists.map((name) => {
      const rows = changes[name];
      return rows.length === 0 ? null : JSON.stringify(rows.map((row) => cellsOf(name, row as never)));
    });
    return this.#writes.run(sql, ...documents);
  }

  /** Whether a commit works: writes nothing that anybody reads, with an fsync all the same. */
  async probe(): Promise<void> {
    await (this.#hooks.beforeProbe ?? this.#hooks.beforeCommit)?.();
    await this.#writer
      .exec(
        'BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS probe (at INTEGER); DELETE FROM probe; INSERT INTO probe VALUES (1); COMMIT',
      )
      .catch(async (fault) => {
        await this.#writer.exec('ROLLBACK').catch(() => {});
        throw fault;
      });
  }

  async load<Row>(table: Table<Row>, where: string, ...params: unknown[]): Promise<Row[]> {
    const sql = `SELECT ${table.rowSql()} AS cells FROM ${table.name} WHERE ${where}`;
    const rows = await this.#loads.all<{ cells: string }[]>(sql, ...params);
    return rows.map(({ cells }) => table.decode(cells));
  }

  /** The rows whose column has one of the values. */
  async loadBy<Row>(table: Table<Row>, column: string, values: readonly (string | number)[]): Promise<Row[]> {
    if (values.length === 0) return [];
    return this.load(table, `${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(values));
  }

  /** Whether an artifact has this hash. */
  async names(sha256: string): Promise<boolean> {
    return (await this.queries.get('SELECT 1 FROM artifacts WHERE sha256 = ?', sha256)) !== undefined;
  }

  /** Whether bytes are removed by retention when their day is over, and by nobody else. */
  async letsGo(sha256: string): Promise<boolean> {
    return (await this.queries.get('SELECT 1 FROM unnamed_objects WHERE sha256 = ?', sha256)) !== undefined;
  }

  /** Its pages, those that nothing is in, and whether its file can be made shorter (`auto_vacuum` is incremental). */
  async size(): Promise<{ pages: number; free: number; pageBytes: number; shrinks: boolean }> {
    const read = async (name: string) =>
      (await this.queries.get<Record<string, number>>(`PRAGMA ${name}`))?.[name] ?? 0;
    return {
      pages: await read('page_count'),
      free: await read('freelist_count'),
      pageBytes: await read('page_size'),
      shrinks: (await read('auto_vacuum')) === INCREMENTAL,
    };
  }

  /** Gives pages that nothing is in back to the disk; they leave the file with the next checkpoint. */
  async shrink(pages: number): Promise<void> {
    await this.#writer.exec(`PRAGMA incremental_vacuum(${pages})`);
  }

  /** Whether nothing was ever recorded in it. */
  async isEmpty(): Promise<boolean> {
    const sql = 'SELECT 1 WHERE EXISTS (SELECT 1 FROM events) OR EXISTS (SELECT 1 FROM artifacts)';
    return (await this.queries.get(sql)) === undefined;
  }

  async close(): Promise<void> {
    await this.#writes.close();
    await this.#loads.close();
    await this.reader.close();
    await this.queries.close();
    await this.pages.close();
    await this.#writer.close();
  }
}
