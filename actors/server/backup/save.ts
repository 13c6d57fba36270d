import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PACKAGE_VERSION } from '../../../gateway/version.ts';
import type { StartError } from '../../../machines/protocol/start-error.ts';
import { makeDirectory } from '../../shared/make-directory.ts';
import { syncFolder } from '../blobs/durable.ts';
import { FolderObjects } from '../blobs/folder-objects.ts';
import { type ObjectHome, objectHome } from '../blobs/home.ts';
import { openHome } from '../blobs/s3/open-home.ts';
import { missingIn } from '../check/missing-objects.ts';
import { findUnnamed, type LostObject, sumOfObjects } from '../check/objects.ts';
import { openStore } from '../check/open-store.ts';
import { checkPages, type Progress, versionOf } from '../check/pages.ts';
import { checkRows } from '../check/rows.ts';
import { isDamage, noStore, storeDamaged } from '../store/damage.ts';
import { PlainStatements } from '../store/plain-statements.ts';
import type { Queries } from '../store/sql.ts';
import { copyStore } from './copy-store.ts';
import { placeObjects, type Source } from './place-objects.ts';
import type { BackupReport } from './report.ts';

export const STORE = 'store.sqlite';

/** @throws StartError when there is no store in a directory */
export async function assertStore(directory: string, flag: string): Promise<void> {
  const found = await stat(join(directory, STORE)).catch(() => null);
  if (found?.isFile() && found.size > 0) return;
  throw noStore(directory, flag);
}

/**
 * Copies the store of a state directory into another directory, as it is at this moment.
 * @throws StartError when its pages are damaged
 */
export async function saveStore(from: string, to: string, onProgress: Progress): Promise<void> {
  await makeDirectory(to);
  await removeStore(to);
  try {
    await copyStore(join(from, STORE), join(to, STORE), onProgress);
  } catch (error) {
    throw isDamage(error) ? storeDamaged(from, (error as Error).message) : error;
  }
}

/** Also what SQLite may have left beside it when it was broken off. */
async function removeStore(directory: string): Promise<void> {
  const names = (await readdir(directory)).filter((name) => name.startsWith(STORE));
  for (const name of names) await rm(join(directory, name));
}

/**
 * Runs on a store that nobody else has, once its pages have been read and found whole.
 * @param said what to say of a damaged one
 */
export async function withWholeStore<T>(
  directory: string,
  said: (what: string) => StartError,
  onProgress: Progress,
  work: (db: Queries) => Promise<T>,
): Promise<T> {
  const db = await openStore(join(directory, STORE), false);
  try {
    const queries = new PlainStatements(db);
    const damaged = (await checkPages(queries, (step) => onProgress(`checking ${step}`)))[0];
    if (damaged !== undefined) throw said(damaged);
    return await work(queries);
  } catch (error) {
    throw isDamage(error) ? said((error as Error).message) : error;
  } finally {
    await db.close();
  }
}

interface Saving {
  /** Where the store has been copied to, and the objects go. */
  directory: string;
  sources: readonly Source[];
  /** What to say where the copied store is damaged. */
  damaged: (what: string) => StartError;
  onProgress: Progress;
}

/** What is known of a backup before it has a name. */
export type Saved = Omit<BackupReport, 'made_at' | 'seconds'>;

/** Brings the objects that a copied store names beside it, verifies both, and has the disk keep them. */
export function saveObjects({ directory, sources, damaged, onProgress }: Saving): Promise<Saved> {
  return withWholeStore(directory, damaged, onProgress, async (db) => {
    const rows = await checkRows(db, (step) => onProgress(`checking ${step}`));
    const all = await sumOfObjects(db);
    const home = await objectHome(db);
    const placed = home
      ? await lookFor(db, home, (done) => onProgress('looking for the objects', done, all.bytes))
      : await placeObjects(db, directory, sources, (done) =>
          onProgress('copying and checking the objects', done, all.bytes),
        );
    onProgress('having the disk keep it');
    // What an attempt that was broken off has brought, for a store that named more.
    for (const path of await findUnnamed(db, new FolderObjects(directory))) await rm(join(directory, path));
    await syncFolders(directory);
    return describe(db, directory, rows, { ...all, ...placed });
  });
}

/** Objects that lie in a bucket are no part of a backup: it is looked whether they are there (docs/decisions/0031-objects-in-s3.md). */
export async function lookFor(db: Queries, home: ObjectHome, onBytes: (done: number) => void) {
  const lost = await missingIn(await openHome(home), db, onBytes);
  return { linked: 0, copied: 0, copied_bytes: 0, lost, elsewhere: home.url };
}

/** @param objects how many were named, and what became of them */
export async function describe(
  db: Queries,
  directory: string,
  rows: BackupReport['rows'],
  objects: BackupReport['objects'] & { lost: LostObject[] },
): Promise<Saved> {
  const { size } = await stat(join(directory, STORE));
  const { named, bytes, linked, copied, copied_bytes, lost, elsewhere } = objects;
  return {
    version: PACKAGE_VERSION,
    store: { version: await versionOf(db), bytes: size },
    objects: {
      ...{ named, bytes, linked, copied, copied_bytes, lost },
      ...(elsewhere !== undefined && { elsewhere }),
    },
    rows,
  };
}

/** The deepest first: a name counts once the folder that has it is on the disk. */
async function syncFolders(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await syncFolders(join(folder, entry.name));
  await syncFolder(folder);
}
