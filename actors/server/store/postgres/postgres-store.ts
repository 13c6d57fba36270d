import type { Client, Pool } from 'pg';
import { StartError } from '../../../../machines/protocol/start-error.ts';
import type { Candidate } from '../candidate.ts';
import type { Changes } from '../changes.ts';
import type { Table } from '../columns.ts';
import { StoreFault } from '../fault.ts';
import { hasArtifactOf, isEmpty, isUnnamed, loadRows, loadRowsBy } from '../rows-by.ts';
import { fitsOneStatement, partsOf } from '../split-changes.ts';
import { type Queries, type SqlText, textOf } from '../sql.ts';
import type { Store, StoreHooks, StoreSize } from '../store.ts';
import { REQUEST_SQL } from '../turn-sql.ts';
import { faultAtStart, started } from './at-start.ts';
import { Database } from './connect.ts';
import { EpochOver } from './epochs.ts';
import { asStoreFault, breaksConnection } from './faults.ts';
import { takeLock } from './lock.ts';
import { assertRights, assertUsable, migrate } from './migrate.ts';
import { named } from './placeholders.ts';
import { PooledQueries, storable } from './pooled-queries.ts';
import { READING, ReadSessions } from './read-sessions.ts';
import { type Session, TurnSessions, WRITING } from './turn-sessions.ts';
import { NOTE_TURN, turnStatement } from './turn-sql.ts';

/** Sessions that load rows for turns. */
const LOADS = 2;

/** The store in PostgreSQL: one session that leads and writes turns, and pools that read. */
export class PostgresStore implements Store {
  readonly place: string;
  readonly isShared = true;
  readonly reader: Queries;
  readonly queries: Queries;
  readonly pages: Queries;
  readonly #turns: TurnSessions;
  readonly #reads: ReadSessions;
  readonly #loads: Pool;
  readonly #hooks: StoreHooks;

  private constructor(database: Database, turns: TurnSessions, hooks: StoreHooks) {
    this.place = database.place;
    this.#turns = turns;
    this.#hooks = hooks;
    this.#reads = new ReadSessions(database);
    this.queries = this.#reads.queries;
    this.pages = this.#reads.pages;
    this.#loads = database.pool('jq-server: loads', LOADS, READING);
    this.reader = new PooledQueries(this.#loads, asStoreFault);
  }

  /**
   * @param address `postgres://…`
   * @param candidate who waits for the store while another server has it; where it is left out, that is refused
   * @throws StartError when the store cannot be used
   */
  static async open(address: string, hooks: StoreHooks = {}, candidate?: Candidate): Promise<PostgresStore> {
    const database = await Database.at(address);
    const prepare = async (client: Client) => {
      await assertUsable(client, database.place);
      await migrate(client, database.place);
      await assertRights(client, database.place);
    };
    const turns = await started(database.place, () =>
      TurnSessions.begin(database, prepare, candidate, hooks.beforeRenewal),
    );
    return new PostgresStore(database, turns, hooks);
  }

  get isInDoubt(): boolean {
    return this.#turns.isInDoubt;
  }

  async commit(changes: Changes): Promise<void> {
    await this.#hooks.beforeCommit?.();
    await this.#turns.commit(({ client, epoch }, turn) =>
      fitsOneStatement(changes)
        ? write(client, changes, [epoch, turn], 'whole')
        : writeInParts(client, changes, [epoch, turn]),
    );
    await this.#hooks.afterCommit?.();
  }

  async probe(): Promise<void> {
    await (this.#hooks.beforeProbe ?? this.#hooks.beforeCommit)?.();
    await this.#turns.attempt(async (session, turn) => {
      await noteTurn(session, turn);
      // Turns may write where this small one does not.
      await assertRights(session.client, this.place).catch(asFault);
    });
  }

  load<Row>(table: Table<Row>, where: SqlText, ...params: unknown[]): Promise<Row[]> {
    return loadRows(this.reader, table, where, params);
  }

  loadBy<Row>(table: Table<Row>, column: string, values: readonly (string | number)[]): Promise<Row[]> {
    return loadRowsBy(this.reader, table, column, values);
  }

  /** Bytes are removed by the one that leads: what nobody names here may just have been put there by that one. */
  async names(sha256: string): Promise<boolean> {
    return (await hasArtifactOf(this.queries, sha256)) || !(await this.#turns.leads(this.queries));
  }

  letsGo(sha256: string): Promise<boolean> {
    return isUnnamed(this.queries, sha256);
  }

  isEmpty(): Promise<boolean> {
    return isEmpty(this.queries);
  }

  faultAtStart(fault: unknown): unknown {
    return faultAtStart(this.place, fault);
  }

  /** PostgreSQL has checksums, and tools of its own. */
  checkDuring(meanwhile: Promise<void>): Promise<void> {
    return meanwhile;
  }

  /** It lies elsewhere, or at least not in the state directory. */
  async size(): Promise<StoreSize> {
    return { pages: 0, free: 0, pageBytes: 0, shrinks: false };
  }

  async shrink(): Promise<void> {}

  async bytes(): Promise<Record<string, number>> {
    const sql = 'SELECT pg_database_size(current_database()) AS bytes';
    return { database: (await this.queries.get<{ bytes: number }>(sql))?.bytes ?? 0 };
  }

  adviceOn(): string | null {
    return null;
  }

  handOver(): Promise<void> {
    return this.#turns.resign();
  }

  endDoubt(): void {
    this.#turns.end();
  }

  async close(): Promise<void> {
    await Promise.all([this.#reads.close(), this.#loads.end()]);
    await this.#turns.close();
  }
}

/** Whose sentence says what to do. */
function asFault(fault: unknown): never {
  throw fault instanceof StartError ? new StoreFault(fault.message) : fault;
}

type Numbers = readonly [epoch: number, turn: number];

async function noteTurn({ client, epoch }: Session, turn: number): Promise<void> {
  const { rows } = await client.query({ ...NOTE_TURN, values: [epoch, turn] });
  if (rows.length !== 1) throw new EpochOver();
}

/** One statement, which is a transaction by itself unless there is one. */
async function write(
  client: Client,
  changes: Changes,
  numbers: Numbers,
  part: 'whole' | 'part',
): Promise<void> {
  const { statement, documents } = turnStatement(changes, part);
  const { rows } = await client.query<{ epochs: number }>({
    ...statement,
    values: [...numbers, ...documents],
  });
  if (rows[0]?.epochs !== 1) throw new EpochOver();
}

/** Between two parts the event loop serves others. */
async function writeInParts(client: Client, changes: Changes, [epoch, turn]: Numbers): Promise<void> {
  await client.query('BEGIN');
  try {
    await noteTurn({ client, epoch }, turn);
    for (const { job_id, request } of changes.job_requests)
      await client.query({ ...named(REQUEST_SQL), values: [job_id, storable(request)] });
    for (const part of partsOf({ ...changes, job_requests: [] }))
      await write(client, part, [epoch, turn], 'part');
    for (const { sql, params } of changes.further) {
      const text = textOf(sql, 'postgresql');
      if (text !== '') await client.query({ ...named(text), values: params.map(storable) });
    }
    await client.query('COMMIT');
  } catch (error) {
    if (!breaksConnection(error)) await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/**
 * Brings the store to this program's version, with no server on it.
 * @throws StartError
 */
export async function migratePostgres(address: string): Promise<{ place: string; from: number; to: number }> {
  const database = await Database.at(address);
  const { place } = database;
  return started(place, async () => {
    const client = await database.connect('jq-server: migrate', WRITING);
    try {
      await takeLock(client, 0, null);
      await assertUsable(client, place);
      return { place, ...(await migrate(client, place)) };
    } finally {
      await client.end();
    }
  });
}
