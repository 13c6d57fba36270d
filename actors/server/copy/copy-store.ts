import { join } from 'node:path';
import { StartError } from '../../../machines/protocol/start-error.ts';
import { acquireLock, type Lock } from '../../shared/lock.ts';
import { assertStore } from '../backup/save.ts';
import { sharedStoreId, unmarkFolder } from '../blobs/shared-folder.ts';
import type { Statement } from '../store/changes.ts';
import { isPostgresAddress } from '../store/postgres/connect.ts';
import { PLACES_OF_ALL } from '../store/postgres/job-places.ts';
import { noChanges } from '../store/split-changes.ts';
import { differing } from '../store/sql.ts';
import { SqliteStore } from '../store/sqlite-store.ts';
import type { Store } from '../store/store.ts';
import { mark, unfinishedCopyOf, unmark } from '../store/unfinished.ts';
import { countOf, differingIn, pagesOf, tablesOf, writeOf } from './copied-tables.ts';

/** What was copied. */
export interface CopiedStore {
  from: string;
  to: string;
  rows: number;
  /** Those that were not there yet. */
  written: number;
}

/** SQLite keeps an index of names that has no rows of its own. */
const NAMES = [
  "INSERT INTO job_names (job_names) VALUES ('delete-all')",
  'INSERT INTO job_names (rowid, name_folded) SELECT seq, name_folded FROM jobs WHERE name_folded IS NOT NULL',
];

/**
 * Copies the rows of one store into another, which is empty, or has a part of the same copy; then compares them all, row
 * by row. Both belong to it meanwhile. Until it is done, no server takes the target.
 * @param from,to `postgres://…`, or a state directory
 * @throws StartError `state_in_use` while a server has one of them; `store_unreadable` for a target that has rows of its own; `store_away`
 *   where a database goes away meanwhile
 */
export async function copyStore({
  from,
  to,
  onProgress,
}: {
  from: string;
  to: string;
  onProgress: (table: string, pass: 'copies' | 'compares') => void;
}): Promise<CopiedStore> {
  if (!isPostgresAddress(from)) await assertStore(from, '--from');
  const source = await opened(from);
  try {
    const target = await opened(to);
    try {
      await assertMayCopy(source.store, target.store);
      for (const place of [from, to]) if (!isPostgresAddress(place)) await unmarkFolder(place);
      return await copyAll(source.store, target.store, onProgress);
    } catch (fault) {
      throw brokenOff(source.store.faultAtStart(target.store.faultAtStart(fault)));
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** A database that went away on the way. */
const brokenOff = (fault: unknown): unknown =>
  fault instanceof StartError && fault.code === 'store_away'
    ? new StartError(
        fault.code,
        `the copy broke off: ${fault.message}; run it again, and it goes on where it was`,
      )
    : fault;

async function opened(place: string): Promise<{ store: Store; close(): Promise<void> }> {
  if (isPostgresAddress(place)) {
    const { PostgresStore } = await import('../store/postgres/postgres-store.ts');
    const store = await PostgresStore.open(place);
    return { store, close: () => store.close() };
  }
  const lock: Lock = await acquireLock(join(place, 'lock.sqlite'), null);
  try {
    const store = await SqliteStore.open(place);
    return { store, close: () => store.close().finally(() => lock.release()) };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function copyAll(
  source: Store,
  target: Store,
  onProgress: (table: string, pass: 'copies' | 'compares') => void,
): Promise<CopiedStore> {
  const write = (...further: Statement[]) => target.commit({ ...noChanges(), further });
  await write(mark(source.place));
  const tables = await tablesOf(source.reader);
  let written = 0;
  for (const table of tables) {
    onProgress(table.name, 'copies');
    for await (const rows of pagesOf(source.reader, table)) {
      const missing = await differingIn(target.reader, table, rows);
      if (missing.length > 0) await write(writeOf(table, missing));
      written += missing.length;
    }
  }
  let rows = 0;
  for (const table of tables) {
    onProgress(table.name, 'compares');
    let wrong = 0;
    for await (const page of pagesOf(source.reader, table)) {
      wrong += (await differingIn(target.reader, table, page)).length;
      rows += page.length;
    }
    const more = (await countOf(target.reader, table)) - (await countOf(source.reader, table));
    if (wrong > 0 || more !== 0)
      throw new StartError(
        'store_unreadable',
        `${target.place} is no copy of ${source.place}: of ${table.name} ${wrong} rows differ, and ${more} are too many; empty it, and begin anew`,
      );
  }
  await write(
    ...NAMES.map((sql) => ({ sql: differing(sql, ''), params: [] })),
    { sql: differing('', PLACES_OF_ALL), params: [] },
    ...(await ofObjects(source, target)),
    unmark(source.place),
  );
  return { from: source.place, to: target.place, rows, written };
}

/** The objects of the one are the other's from now on: their folder says whose they are by this id. */
async function ofObjects(source: Store, target: Store): Promise<Statement[]> {
  if (!source.isShared || !target.isShared) return [];
  const id = await sharedStoreId(source.reader);
  return id === undefined ? [] : [{ sql: 'UPDATE store_id SET id = ?', params: [id] }];
}

async function assertMayCopy(source: Store, target: Store): Promise<void> {
  const refuse = (why: string): never => {
    throw new StartError('store_unreadable', why);
  };
  if (source.place === target.place) refuse('--to: name another store than --from');
  const unfinished = await unfinishedCopyOf(source.reader);
  if (unfinished !== undefined)
    refuse(`--from: ${source.place} is a copy of ${unfinished} that is not finished`);
  const begun = await unfinishedCopyOf(target.reader);
  if (begun === source.place) return;
  if (begun !== undefined)
    refuse(`--to: ${target.place} is a copy of ${begun} that is not finished; empty it, or go on with that`);
  if (!(await target.isEmpty())) refuse(`--to: ${target.place} has rows of its own; name an empty store`);
}
