import { join } from 'node:path';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import type { Lock } from '../../shared/lock.ts';
import { shareFile } from '../../shared/owner.ts';

/** Beside the store: who reads the objects that an earlier moment of it names holds a shared lock on it. */
const FILE = 'objects-lock.sqlite';
/** Milliseconds that a reader waits at most: whoever removes objects does so in slices. */
const PATIENCE_MS = 60_000;

/** Keeps objects from being removed while somebody copies them; the system ends it with the process. */
export function holdObjects(stateDir: string): Promise<Lock> {
  return transaction(stateDir, PATIENCE_MS, 'BEGIN; SELECT 1 FROM sqlite_master');
}

/** Takes the right to remove objects; null while somebody copies them. */
export function mayRemoveObjects(stateDir: string): Promise<Lock | null> {
  return transaction(stateDir, 0, 'BEGIN EXCLUSIVE').catch((error: { code?: string }) => {
    if (error.code === 'SQLITE_BUSY') return null;
    throw error;
  });
}

async function transaction(stateDir: string, patience: number, begin: string): Promise<Lock> {
  const path = join(stateDir, FILE);
  await shareFile(path);
  const db = await open({ filename: path, driver: sqlite3.Database });
  try {
    await db.exec(`PRAGMA busy_timeout = ${patience}; PRAGMA journal_mode = DELETE; ${begin}`);
  } catch (error) {
    await db.close();
    throw error;
  }
  return { release: () => db.close() };
}
