import assert from 'node:assert/strict';
import { BLANK, LATER } from '../../actors/server/reads/json-text.ts';
import type { Changes } from '../../actors/server/store/changes.ts';
import type { Table } from '../../actors/server/store/columns.ts';
import { type Queries, type SqlText, textOf } from '../../actors/server/store/sql.ts';
import type { Store } from '../../actors/server/store/store.ts';

type Row = Readonly<Record<string, unknown>>;
type Name = 'sqlite' | 'postgresql';

/**
 * A store in SQLite and the same in PostgreSQL: both are written by the same turns, each statement is asked of both, and
 * what they answer has to be the same, row by row.
 */
export class TwinStore implements Store {
  /** Whose rows are given to whoever asks. */
  answering: Name = 'sqlite';
  /** Where the two differ, also where nobody looks. */
  readonly faults: unknown[] = [];
  readonly place: string;
  readonly reader: Queries;
  readonly queries: Queries;
  readonly pages: Queries;
  readonly isInDoubt = false;
  readonly isShared = false;
  #last: Promise<unknown> = Promise.resolve();
  readonly #stores: Readonly<Record<Name, Store>>;

  constructor(sqlite: Store, postgresql: Store) {
    this.#stores = { sqlite, postgresql };
    this.place = sqlite.place;
    this.reader = this.#asking('reader');
    this.queries = this.#asking('queries');
    this.pages = this.#asking('pages');
  }

  commit(changes: Changes): Promise<void> {
    return this.#alone(() => this.#commit(changes));
  }

  async #commit(changes: Changes): Promise<void> {
    // Where the first fails, the other is not asked.
    await this.#stores.sqlite.commit(changes);
    await this.#stores.postgresql.commit(changes);
  }

  async probe(): Promise<void> {
    await this.#stores.sqlite.probe();
    await this.#stores.postgresql.probe();
  }

  load<R>(table: Table<R>, where: SqlText, ...params: unknown[]): Promise<R[]> {
    return this.#of(`${table.name} ${textOf(where, 'sqlite')}`, (store) =>
      store.load(table, where, ...params),
    );
  }

  loadBy<R>(table: Table<R>, column: string, values: readonly (string | number)[]): Promise<R[]> {
    const sorted = async (store: Store) => {
      const rows = await store.loadBy(table, column, values);
      return rows.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    };
    return this.#of(`${table.name} by ${column}`, sorted);
  }

  names = (sha256: string): Promise<boolean> => this.#of('names', (store) => store.names(sha256));
  letsGo = (sha256: string): Promise<boolean> => this.#of('letsGo', (store) => store.letsGo(sha256));
  isEmpty = (): Promise<boolean> => this.#of('isEmpty', (store) => store.isEmpty());

  /* What is about a file has one alone. */
  checkDuring = (meanwhile: Promise<void>) => this.#stores.sqlite.checkDuring(meanwhile);
  faultAtStart = (fault: unknown) => this.#stores.sqlite.faultAtStart(fault);
  size = () => this.#stores.sqlite.size();
  shrink = (pages: number) => this.#stores.sqlite.shrink(pages);
  bytes = () => this.#stores.sqlite.bytes();
  adviceOn = (fault: unknown) => this.#stores.sqlite.adviceOn(fault);
  endDoubt(): void {}

  async handOver(): Promise<void> {
    await this.#stores.postgresql.handOver();
  }

  async close(): Promise<void> {
    await this.#stores.sqlite.close();
    await this.#stores.postgresql.close();
  }

  #asking(role: 'reader' | 'queries' | 'pages'): Queries {
    const all = <Rows>(text: SqlText, ...params: unknown[]): Promise<Rows> =>
      this.#of(textOf(text, 'postgresql'), (store) => store[role].all<Rows>(text, ...params), params);
    return {
      all,
      get: async <R>(text: SqlText, ...params: unknown[]) => (await all<R[]>(text, ...params))[0],
    };
  }

  /** One after the other, so that both are asked at the same moment. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch((fault) => this.faults.push(fault));
    return done;
  }

  #of<T>(what: string, ask: (store: Store) => Promise<T>, params: unknown[] = []): Promise<T> {
    return this.#alone(() => this.#both(what, ask, params));
  }

  async #both<T>(what: string, ask: (store: Store) => Promise<T>, params: unknown[]): Promise<T> {
    const [one, other] = await Promise.allSettled([ask(this.#stores.sqlite), ask(this.#stores.postgresql)]);
    if (one.status === 'rejected') throw one.reason;
    if (other.status === 'rejected')
      throw new Error(
        `PostgreSQL refuses what SQLite answers: ${what} ${JSON.stringify(params).slice(0, 300)}`,
        { cause: other.reason },
      );
    assert.deepEqual(
      comparable(other.value, what),
      comparable(one.value, what),
      `${what} ${JSON.stringify(params)}`,
    );
    return this.answering === 'sqlite' ? one.value : other.value;
  }
}

/**
 * Rows without what only looks different: a row as one text has doubles as texts in SQLite, texts of many rows are bytes there, parts of
 * long values are cut elsewhere, and a NUL takes more bytes in PostgreSQL.
 */
function comparable(answer: unknown, asked: string): unknown {
  if (!Array.isArray(answer)) return answer;
  const outside = withoutParts(asked);
  const isOrdered = !/ FROM /.test(outside) || / ORDER BY /.test(outside);
  // No order is promised where none is asked for: then they are any so many of them.
  if (!isOrdered && / LIMIT /.test(outside)) return answer.length;
  const rows = answer.map((row: Row) => {
    if (row === null || typeof row !== 'object') return row;
    if ('part' in row) return null;
    const { bytes: _, cells, look, '?column?': unnamed, ...rest } = row;
    if (look !== undefined) return { ...rest, look: alike(`${look}`) };
    if (unnamed !== undefined) return { 1: unnamed };
    return typeof cells === 'string' ? { ...rest, cells: doublesOf(JSON.parse(cells)) } : rest;
  });
  return isOrdered ? rows : rows.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

/** A look at rows, with what is blank in it as a value, and without the bytes of large rows. */
const alike = (look: string): string =>
  look
    .replace(new RegExp(`${BLANK}([^${BLANK}]*)${BLANK}`, 'g'), (_, blank) =>
      JSON.stringify(JSON.parse(blank)),
    )
    .replace(new RegExp(`(${LATER}\\d+):\\d+`, 'g'), '$1');

/** A statement without what stands in brackets. */
function withoutParts(statement: string): string {
  const shorter = statement.replace(/\([^()]*\)/g, ' ');
  return shorter === statement ? statement.replace(/\s+/g, ' ') : withoutParts(shorter);
}

const doublesOf = (cells: unknown[]): unknown[] =>
  cells.map((cell) =>
    typeof cell === 'string' && /^-?[\d.]+(e[+-]?\d+)?$/.test(cell) ? Number(cell) : cell,
  );
