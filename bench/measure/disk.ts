import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { median } from '../load/quantiles.ts';

const TMPFS = 0x01021994;

/** Whether a path lies in memory, where an fsync costs nothing. */
export const isTmpfs = (path: string): boolean => statfsSync(path).type === TMPFS;

/**
 * What durability costs on the disk of a folder, in milliseconds, medians of many.
 * `commit`: a transaction of one small row in SQLite, WAL, `synchronous=FULL`, through the driver that the server
 * uses; `fdatasync`: overwriting 4 KiB of a file and flushing it.
 */
export async function diskTimes(folder: string, times = 200): Promise<{ commit: number; fdatasync: number }> {
  const scratch = mkdtempSync(join(folder, 'disk-'));
  try {
    return { commit: await commitTime(scratch, times), fdatasync: fdatasyncTime(scratch, times) };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function commitTime(folder: string, times: number): Promise<number> {
  const db = await open({ filename: join(folder, 'commit.sqlite'), driver: sqlite3.Database });
  await db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (id INTEGER PRIMARY KEY, x)',
  );
  const insert = await db.prepare('INSERT INTO t (x) VALUES (?)');
  const taken: number[] = [];
  for (let i = 0; i < times; i++) {
    const began = performance.now();
    await insert.run('one small row');
    taken.push(performance.now() - began);
  }
  await insert.finalize();
  await db.close();
  return median(taken);
}

function fdatasyncTime(folder: string, times: number): number {
  const file = openSync(join(folder, 'flushed'), 'w');
  const page = Buffer.alloc(4096, 1);
  const taken: number[] = [];
  for (let i = 0; i < times; i++) {
    const began = performance.now();
    writeSync(file, page, 0, page.length, 0);
    fdatasyncSync(file);
    taken.push(performance.now() - began);
  }
  closeSync(file);
  return median(taken);
}
