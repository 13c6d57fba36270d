import { mkdirSync, readdirSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { Program } from '../support/program.ts';

const MIGRATOR = fileURLToPath(new URL('./migrator.ts', import.meta.url));
const SCHEMA = fileURLToPath(new URL('../../actors/server/store/schema/', import.meta.url));
/** Enough rows for the migrations to write more than one page each. */
const ROWS = 3000;

const connect = (state: string) => open({ filename: join(state, 'store.sqlite'), driver: sqlite3.Database });

/** Versions that a store may have, oldest first. */
export const VERSIONS = readdirSync(SCHEMA)
  .filter((name) => name.endsWith('.sql'))
  .map((name) => Number(name.slice(0, 4)))
  .sort((a, b) => a - b);

/** A store as an earlier program left it: its migrations alone, with workers in it. Version 0 has no file at all. */
export async function olderStore(state: string, version: number): Promise<void> {
  mkdirSync(state);
  if (version === 0) return;
  const db = await connect(state);
  await db.exec('PRAGMA journal_mode = WAL');
  for (const name of readdirSync(SCHEMA).sort()) {
    if (Number(name.slice(0, 4)) <= version) await db.exec(readFileSync(join(SCHEMA, name), 'utf8'));
  }
  const numbers = JSON.stringify(Array.from({ length: ROWS }, (_, i) => i));
  await db.run(
    `INSERT INTO workers (id, name, principal, status, state, registered_at, last_seen_at, labels, capabilities, version,
       slots_total, slots_used)
     SELECT 'worker_' || value, 'a name ' || value, 'ann', 'dead', NULL, 1, 1, '{}', '{}', '{}', 1, 0
     FROM json_each(?)`,
    numbers,
  );
  await db.exec(`PRAGMA user_version = ${version}`);
  await db.close();
}

/** What killed migrations came to. */
export interface MigrationFigures {
  /** Processes that were killed before they had ended. */
  killed: number;
  faults: string[];
}

/**
 * Migrates a store again and again, killed at the first, the second, … change below the state directory, until one
 * gets through. After each kill the store is whole and has one of the versions; in the end, the newest, with all
 * that was in it.
 */
export async function migrateKilled(state: string, version: number): Promise<MigrationFigures> {
  await olderStore(state, version);
  const figures: MigrationFigures = { killed: 0, faults: [] };
  for (let change = 1; change < 200; change++) {
    const ended = await killedAt(state, change);
    figures.faults.push(...(await faultsOf(state, version)));
    if (!ended) return figures;
    figures.killed++;
  }
  figures.faults.push(`version ${version}: no migration got through`);
  return figures;
}

/** Whether the migration was killed; false when it was done before so many changes. */
async function killedAt(state: string, change: number): Promise<boolean> {
  let seen = 0;
  const migrator = new Program(process.execPath, ['--import', 'tsx', MIGRATOR, state]);
  const watcher = watch(state, () => {
    if (++seen === change) migrator.child.kill('SIGKILL');
  });
  const { code, signal } = await migrator.ended;
  watcher.close();
  if (signal === null && code !== 0) throw new Error(`the migration failed: ${migrator.stderr}`);
  return signal === 'SIGKILL';
}

async function faultsOf(state: string, from: number): Promise<string[]> {
  const db = await connect(state);
  const faults: string[] = [];
  try {
    const check = await db.get('PRAGMA integrity_check');
    if (check.integrity_check !== 'ok') faults.push(`integrity_check: ${JSON.stringify(check)}`);
    const { user_version } = await db.get('PRAGMA user_version');
    if (user_version !== 0 && !VERSIONS.includes(user_version)) faults.push(`version ${user_version}`);
    if (user_version < from) faults.push(`version ${user_version} is older than ${from}`);
    const tables = await db.get("SELECT COUNT(*) AS n FROM sqlite_master WHERE name IN ('jobs', 'workers')");
    // A migration is there as a whole, with its number, or not at all.
    if (user_version > 0 !== (tables.n === 2)) faults.push(`version ${user_version} has ${tables.n} tables`);
    if (from > 0) {
      const { n } = await db.get('SELECT COUNT(*) AS n FROM workers');
      if (n !== ROWS) faults.push(`${n} workers are left of ${ROWS}`);
    }
  } finally {
    await db.close();
  }
  return faults;
}
