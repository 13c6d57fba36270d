import { access, constants } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { StartError } from '../../machines/protocol/start-error.ts';
import { makeDirectory } from './make-directory.ts';
import { shareFile } from './owner.ts';

export interface Lock {
  release(): Promise<void>;
}

/**
 * Takes a directory for one process: a transaction held open on a small SQLite file of its own. The operating
 * system ends it with the process, however that dies, so no stale lock is ever left.
 * @param named what names the directory, so that another can be chosen; null where that is of no use
 * @throws StartError `state_in_use` or `state_unwritable`
 */
export async function acquireLock(path: string, named: string | null = '--state'): Promise<Lock> {
  const folder = dirname(path);
  const another = named === null ? 'stop that one first' : `stop that one, or choose another with ${named}`;
  try {
    await makeDirectory(resolve(folder));
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new StartError(
      'state_unwritable',
      `cannot write to the state directory ${folder} (${why}); choose another with --state, or grant write access`,
    );
  }
  await shareFile(path).catch((error: Error) => {
    throw new StartError(
      'state_unwritable',
      `cannot open ${path} (${error.message}); give it to the user of this program, or choose another --state`,
    );
  });
  const db = await open({ filename: path, driver: sqlite3.Database }).catch((error: Error) => {
    throw new StartError(
      'state_unwritable',
      `cannot open ${path} (${error.message}); choose another --state`,
    );
  });
  try {
    await db.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');
  } catch (error) {
    await db.close();
    const busy = (error as { code?: string }).code === 'SQLITE_BUSY';
    throw busy
      ? new StartError(
          'state_in_use',
          `the state directory ${folder} is in use by another process; ${another}`,
        )
      : new StartError(
          'state_unwritable',
          `cannot lock ${path} (${(error as Error).message}); choose another --state`,
        );
  }
  let held = true;
  return {
    async release() {
      if (!held) return;
      held = false;
      await db.close();
    },
  };
}
