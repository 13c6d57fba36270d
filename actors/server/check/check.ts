import { access, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { FolderObjects } from '../blobs/folder-objects.ts';
import { objectHome } from '../blobs/home.ts';
import { openHome } from '../blobs/s3/open-home.ts';
import { isDamage, noStore } from '../store/damage.ts';
import { PlainStatements } from '../store/plain-statements.ts';
import { awaitingRemoval, checkObjects, findUnnamed, type ObjectsReport } from './objects.ts';
import { openStore } from './open-store.ts';
import { checkPages, type Progress, versionOf } from './pages.ts';
import { checkRows, type RowMismatch } from './rows.ts';

/** What a state directory is like. */
export interface StateReport {
  ok: boolean;
  state: string;
  /** Bytes with its log. */
  store: { path: string; bytes: number; version: number };
  /** What SQLite says of its pages, at most a hundred lines. */
  pages: string[];
  /** Null when the store cannot be read far enough to compare them. */
  rows: RowMismatch[] | null;
  /** Null when the store cannot be read far enough to know them. */
  objects: ObjectsReport | null;
}

/**
 * Verifies a state directory: the pages of its store, the rows that must fit together, and every object. Changes
 * nothing, migrates nothing, and takes no lock that a server would wait for.
 * @throws StartError `store_unreadable` when there is no store
 */
export async function checkState(state: string, onProgress: Progress = () => {}): Promise<StateReport> {
  const path = join(state, 'store.sqlite');
  const found = await stat(path).catch(() => null);
  if (!found?.isFile()) throw noStore(state, '--state');
  const isServed = () =>
    access(`${path}-wal`).then(
      () => true,
      () => false,
    );
  const served = await isServed();
  const log = await stat(`${path}-wal`).catch(() => null);
  const bytes = found.size + (log?.size ?? 0);
  const report = await look(state, path, bytes, served, onProgress);
  // A server that started meanwhile may have changed the file: only the second look counts.
  return !report.ok && !served && (await isServed()) ? look(state, path, bytes, true, onProgress) : report;
}

async function look(
  state: string,
  path: string,
  bytes: number,
  served: boolean,
  onProgress: Progress,
): Promise<StateReport> {
  const store = { path, bytes, version: 0 };
  const report: StateReport = { ok: true, state, store, pages: [], rows: null, objects: null };
  const db = await openStore(path, served);
  try {
    await db.exec('PRAGMA busy_timeout = 5000; BEGIN');
    const queries = new PlainStatements(db);
    store.version = await versionOf(queries);
    report.pages = await checkPages(queries, onProgress);
    report.rows = await checkRows(queries, onProgress);
    const home = await objectHome(queries);
    const driver = home ? await openHome(home) : new FolderObjects(state);
    report.objects = await checkObjects(queries, driver, (done, total) =>
      onProgress('the objects', done, total),
    );
    await db.exec('COMMIT');
    onProgress('objects without an artifact');
    const waiting = await awaitingRemoval(queries);
    const unnamed = await findUnnamed(queries, driver);
    report.objects.unnamed = unnamed.filter((path) => !waiting.has(basename(path)));
  } catch (error) {
    if (!isDamage(error)) throw error;
    report.pages.push((error as Error).message);
  } finally {
    await db.close();
  }
  const { pages, rows, objects } = report;
  report.ok = pages.length === 0 && rows?.length === 0 && objects?.lost.length === 0;
  return report;
}
