import { open, type Statement } from 'sqlite';
import sqlite3 from 'sqlite3';
import type { Lock } from '../../../shared/lock.ts';
import { sleep } from '../../link/backoff.ts';

export type LockMode = 'shared' | 'exclusive';

export interface EntryLock extends Lock {
  /** Shares what one had alone; at no moment in between could another have it alone. */
  share(): Promise<void>;
}

const FIRST_LOOK_MS = 10;
const LONGEST_LOOK_MS = 250;
/** It begins to read, and has more to come after its first row. */
const READING = 'SELECT 1 UNION ALL SELECT count(*) FROM sqlite_master';

/**
 * Takes a lock that processes share or that one has alone: a transaction on a small SQLite file, which the
 * operating system ends with the process, so that no stale lock is ever left. The file must stay where it is.
 * @returns null while another holds it in a way that excludes this one
 */
export async function tryLock(path: string, mode: LockMode): Promise<EntryLock | null> {
  const db = await open({ filename: path, driver: sqlite3.Database });
  try {
    await db.exec('PRAGMA busy_timeout = 0');
    await db.exec(mode === 'exclusive' ? 'BEGIN EXCLUSIVE' : 'BEGIN');
    // Only a first read takes the lock of a transaction that is not exclusive.
    if (mode === 'shared') await db.get('SELECT count(*) FROM sqlite_master');
  } catch (error) {
    await db.close();
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return null;
    throw error;
  }
  let reading: Statement | undefined;
  const close = async () => {
    await reading?.finalize();
    await db.close();
  };
  let closing: Promise<void> | undefined;
  return {
    async share() {
      reading = await db.prepare(READING);
      await reading.get();
      // What a statement reads, SQLite keeps locked until that has ended, beyond the transaction that it began in.
      await db.exec('ROLLBACK');
    },
    release() {
      closing ??= close();
      return closing;
    },
  };
}

/** Waits for a lock; rejects with `AbortError` when aborted. */
export async function waitForLock(path: string, mode: LockMode, signal: AbortSignal): Promise<EntryLock> {
  for (let wait = FIRST_LOOK_MS; ; wait = Math.min(wait * 2, LONGEST_LOOK_MS)) {
    signal.throwIfAborted();
    const lock = await tryLock(path, mode);
    if (lock) return lock;
    await sleep(wait, signal);
  }
}
