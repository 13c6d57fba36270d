import { open as openFile } from 'node:fs/promises';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import type { Progress } from '../check/pages.ts';
import type { Connection } from '../store/open.ts';

/** Pages that are copied at a time: 4 MiB. */
const AT_ONCE = 1024;

/** What the types of the driver leave out: SQLite's own backup. */
interface Copying {
  readonly pageCount: number;
  readonly remaining: number;
  readonly completed: boolean;
  step(pages: number, then: (error: Error | null) => void): void;
  finish(then: () => void): void;
}
interface Copyable {
  backup(to: string, then: (error: Error | null) => void): Copying;
}

/**
 * Copies a store as it is at this moment, also beside the server that writes to it: page by page within one reading
 * transaction, for which nobody waits (docs/decisions/0022-backups.md). The copy has no log beside it.
 * @param to a file that is not there yet
 */
export async function copyStore(from: string, to: string, onProgress: Progress): Promise<void> {
  // Not read-only: then SQLite makes, and takes away again, what a store with a log needs beside it.
  const source = await openExisting(from);
  try {
    // What is read from here on is what was committed by now; without it, every commit would begin the copy anew.
    await source.exec('BEGIN; SELECT 1 FROM sqlite_master');
    await copyPages(source, to, onProgress);
    await source.exec('COMMIT');
  } finally {
    await source.close();
  }
  const copy = await openExisting(to);
  try {
    await copy.exec('PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE');
  } finally {
    await copy.close();
  }
}

async function openExisting(filename: string): Promise<Connection> {
  const db = await open({ filename, driver: sqlite3.Database, mode: sqlite3.OPEN_READWRITE });
  await db.exec('PRAGMA busy_timeout = 5000');
  return db;
}

/**
 * What has been copied is brought to the disk bit by bit: all of it at once, in the end, would keep the commits of the
 * server waiting for seconds.
 */
async function copyPages(source: Connection, to: string, onProgress: Progress): Promise<void> {
  const size = (await source.get<{ page_size: number }>('PRAGMA page_size'))?.page_size ?? 0;
  const copying = await begun(source.getDatabaseInstance() as unknown as Copyable, to);
  const file = await openFile(to, 'r+');
  try {
    while (!copying.completed) {
      await stepped(copying);
      await file.datasync();
      const { pageCount, remaining } = copying;
      onProgress('copying the store', (pageCount - remaining) * size, pageCount * size);
    }
  } finally {
    await new Promise<void>((resolve) => {
      copying.finish(resolve);
    });
    await file.close();
  }
}

const begun = (source: Copyable, to: string): Promise<Copying> =>
  new Promise((resolve, reject) => {
    const copying = source.backup(to, (fault) => (fault ? reject(fault) : resolve(copying)));
  });

const stepped = (copying: Copying): Promise<void> =>
  new Promise((resolve, reject) => {
    copying.step(AT_ONCE, (fault) => (fault ? reject(fault) : resolve()));
  });
