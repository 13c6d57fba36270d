import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Changes } from './changes.ts';
import { checkPagesDuring } from './check-pages.ts';
import type { Table } from './columns.ts';
import { isDamage, wayOut } from './damage.ts';
import { type Connection, openReader, openWriter } from './open.ts';
import { PlainStatements } from './plain-statements.ts';
import { PreparedStatements } from './prepared-statements.ts';
import { hasArtifactOf, isEmpty, isUnnamed, loadRows, loadRowsBy } from './rows-by.ts';
import { fitsOneStatement, partsOf } from './split-changes.ts';
import { type Queries, type SqlText, textOf } from './sql.ts';
import type { Store, StoreHooks, StoreSize } from './store.ts';
import { cellsOf, REQUEST_SQL, viewFor } from './turn-sql.ts';
import { Whereabouts } from './whereabouts.ts';

/** SQLite's number for it. */
const INCREMENTAL = 2;

/** The store as a file of SQLite: one connection that writes turns, one that loads rows for them, one for the GETs. */
export class SqliteStore implements Store {
  readonly place: string;
  readonly reader: Queries;
  readonly queries: Queries;
  /**
   * The connection of the GETs, with a statement for each page of events. Through a shared one hundreds of streams that
   * read their history are served so closely after each other that the garbage collection falls behind.
   */
  readonly pages: Queries;
  /** A file of the same machine tells at once. */
  readonly isInDoubt = false;
  readonly isShared = false;
  readonly #connections: Readonly<Record<'writer' | 'reader' | 'queries', Connection>>;
  readonly #hooks: StoreHooks;
  readonly #whereabouts: Whereabouts;
  readonly #writes: PreparedStatements;
  readonly #loads: PreparedStatements;
  readonly #answers: PreparedStatements;

  private constructor(
    path: string,
    connections: Readonly<Record<'writer' | 'reader' | 'queries', Connection>>,
    whereabouts: Whereabouts,
    hooks: StoreHooks,
  ) {
    this.place = path;
    this.#connections = connections;
    this.#writes = new PreparedStatements(connections.writer);
    this.#loads = new PreparedStatements(connections.reader);
    this.#answers = new PreparedStatements(connections.queries);
    this.reader = new PlainStatements(connections.reader);
    this.pages = new PlainStatements(connections.queries);
    this.queries = this.#answers;
    this.#whereabouts = whereabouts;
    this.#hooks = hooks;
  }

  /** @throws StartError when the store cannot be used */
  static async open(stateDir: string, hooks: StoreHooks = {}): Promise<SqliteStore> {
    const path = join(stateDir, 'store.sqlite');
    const writer = await openWriter(path);
    const connections = { writer, reader: await openReader(path), queries: await openReader(path) };
    return new SqliteStore(path, connections, await Whereabouts.of(path, writer), hooks);
  }

  async commit(changes: Changes): Promise<void> {
    await this.#hooks.beforeCommit?.();
    await this.#whereabouts.writing(() =>
      fitsOneStatement(changes) ? this.#write(changes) : this.#writeInParts(changes),
    );
    await this.#hooks.afterCommit?.();
  }

  /** Between two parts the event loop serves others. */
  async #writeInParts(changes: Changes): Promise<void> {
    await this.#writes.run('BEGIN IMMEDIATE');
    try {
      for (const { job_id, request } of changes.job_requests)
        await this.#writes.run(REQUEST_SQL, job_id, request);
      for (const part of partsOf({ ...changes, job_requests: [] })) await this.#write(part);
      for (const { sql, params } of changes.further)
        if (textOf(sql, 'sqlite') !== '') await this.#writes.run(sql, ...params);
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

  async probe(): Promise<void> {
    await (this.#hooks.beforeProbe ?? this.#hooks.beforeCommit)?.();
    const { writer } = this.#connections;
    await this.#whereabouts.look();
    await this.#whereabouts.writing(() =>
      writer
        .exec(
          'BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS probe (at INTEGER); DELETE FROM probe; INSERT INTO probe VALUES (1); COMMIT',
        )
        .catch(async (fault) => {
          await writer.exec('ROLLBACK').catch(() => {});
          throw fault;
        }),
    );
  }

  load<Row>(table: Table<Row>, where: SqlText, ...params: unknown[]): Promise<Row[]> {
    return loadRows(this.#loads, table, where, params);
  }

  loadBy<Row>(table: Table<Row>, column: string, values: readonly (string | number)[]): Promise<Row[]> {
    return loadRowsBy(this.#loads, table, column, values);
  }

  names(sha256: string): Promise<boolean> {
    return hasArtifactOf(this.queries, sha256);
  }

  letsGo(sha256: string): Promise<boolean> {
    return isUnnamed(this.queries, sha256);
  }

  isEmpty(): Promise<boolean> {
    return isEmpty(this.queries);
  }

  faultAtStart(fault: unknown): unknown {
    return fault;
  }

  checkDuring(meanwhile: Promise<void>): Promise<void> {
    return checkPagesDuring(dirname(this.place), meanwhile);
  }

  async size(): Promise<StoreSize> {
    const read = async (name: string) =>
      (await this.queries.get<Record<string, number>>(`PRAGMA ${name}`))?.[name] ?? 0;
    return {
      pages: await read('page_count'),
      free: await read('freelist_count'),
      pageBytes: await read('page_size'),
      shrinks: (await read('auto_vacuum')) === INCREMENTAL,
    };
  }

  /** They leave the file with the next checkpoint. */
  async shrink(pages: number): Promise<void> {
    await this.#connections.writer.exec(`PRAGMA incremental_vacuum(${pages})`);
  }

  /** Of the database, and of its log. */
  async bytes(): Promise<Record<string, number>> {
    const lengthOf = async (path: string) => (await stat(path).catch(() => null))?.size ?? 0;
    return { database: await lengthOf(this.place), wal: await lengthOf(`${this.place}-wal`) };
  }

  adviceOn(fault: unknown): string | null {
    if (isDamage(fault)) return `it is damaged; ${wayOut(dirname(this.place))}`;
    return this.#whereabouts.adviceOn(fault);
  }

  async handOver(): Promise<void> {}

  endDoubt(): void {}

  async close(): Promise<void> {
    await this.#whereabouts.stop();
    await this.#writes.close();
    await this.#loads.close();
    await this.#connections.reader.close();
    await this.#answers.close();
    await this.#connections.queries.close();
    await this.#connections.writer.close();
  }
}
