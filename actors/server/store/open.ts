import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Database, open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { StartError } from '../../../machines/protocol/start-error.ts';
import { isDamage, storeDamaged } from './damage.ts';
import { TURN_VIEWS } from './turn-sql.ts';

export type Connection = Database<sqlite3.Database, sqlite3.Statement>;

const MIGRATIONS = new URL('./schema/', import.meta.url);
/** WAL pages after which a commit checkpoints, so that the log stays bounded (4 KiB each). */
const CHECKPOINT_PAGES = 2000;

/**
 * Opens the writing connection and brings the store to this program's version. Every commit is followed by
 * an fsync (`synchronous = FULL`); nothing acknowledged is lost with the power.
 * @throws StartError `store_too_new`, `store_unreadable` or `state_unwritable`
 */
export async function openWriter(path: string): Promise<Connection> {
  const db = await open({ filename: path, driver: sqlite3.Database }).catch((error: Error) => {
    throw new StartError('state_unwritable', `cannot open the store ${path} (${error.message})`);
  });
  try {
    await db.exec(
      // The first has a meaning for a new store alone; an older one is brought to it by `jq-server compact`.
      `PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000; PRAGMA temp_store = MEMORY;
       PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; PRAGMA journal_size_limit = 67108864;`,
    );
    await migrate(db, path);
    await db.exec(TURN_VIEWS);
    return db;
  } catch (error) {
    await db.close();
    if (error instanceof StartError) throw error;
    if (isDamage(error)) throw storeDamaged(dirname(path), (error as Error).message);
    throw new StartError('store_unreadable', `cannot use the store ${path} (${(error as Error).message})`);
  }
}

/**
 * Bytes that a text from the store may have. A longer one fails in SQLite, which fails the query; beyond the limit of
 * V8's strings (about twice as many) it would fail in the driver's callback, where nobody can catch it.
 */
const LONGEST_TEXT = 256 * 1024 * 1024;

/** Opens a connection that only reads; it sees every commit that was answered. */
export async function openReader(path: string): Promise<Connection> {
  const db = await open({ filename: path, driver: sqlite3.Database, mode: sqlite3.OPEN_READONLY });
  db.getDatabaseInstance().configure('limit', sqlite3.LIMIT_LENGTH, LONGEST_TEXT);
  // SQLite opens the log with the first read: now, since later the process may have no file left to open.
  await db.exec('PRAGMA busy_timeout = 5000; SELECT 1 FROM sqlite_master');
  return db;
}

/** The numbered migrations of this program, in order. */
async function migrations(): Promise<{ version: number; path: string }[]> {
  const folder = fileURLToPath(MIGRATIONS);
  const names = (await readdir(folder)).filter((name) => /^\d{4}-.*\.sql$/.test(name)).sort();
  return names.map((name) => ({ version: Number(name.slice(0, 4)), path: join(folder, name) }));
}

/** Applies what is missing, each migration in a transaction of its own together with its version number. */
async function migrate(db: Connection, path: string): Promise<void> {
  const known = await migrations();
  const newest = known.at(-1)?.version ?? 0;
  const row = await db.get<{ user_version: number }>('PRAGMA user_version');
  const current = row?.user_version ?? 0;
  if (current > newest) {
    throw new StartError(
      'store_too_new',
      `the store ${path} has version ${current}, newer than this program (${newest}); install the newer jq-cluster, or choose another --state`,
    );
  }
  for (const { version, path: file } of known.filter((migration) => migration.version > current)) {
    const sql = await readFile(file, 'utf8');
    await db.exec(`BEGIN IMMEDIATE; ${sql}; PRAGMA user_version = ${version}; COMMIT`);
  }
}
