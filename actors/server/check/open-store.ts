import { pathToFileURL } from 'node:url';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import type { Connection } from '../store/open.ts';

/**
 * Opens a store to read it. One without a log belongs to nobody just now and is taken as it lies, so that not even
 * SQLite's own files appear beside it; one with a log is read together with it.
 * @param served whether it has a log
 */
export function openStore(path: string, served: boolean): Promise<Connection> {
  const { OPEN_READONLY, OPEN_URI, Database } = sqlite3;
  if (served) return open({ filename: path, driver: Database, mode: OPEN_READONLY });
  const filename = `${pathToFileURL(path).href}?immutable=1`;
  return open({ filename, driver: Database, mode: OPEN_READONLY | OPEN_URI });
}
