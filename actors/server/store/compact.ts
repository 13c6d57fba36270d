import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { acquireLock } from '../../shared/lock.ts';
import { assertStore } from '../backup/save.ts';
import { openWriter } from './open.ts';

/** Bytes of a store's file. */
export interface Compacted {
  path: string;
  before: number;
  after: number;
}

/**
 * Rewrites the store of a stopped server without the room that nothing is in, and so that its file shrinks by itself
 * from then on, which one of an earlier version does not. It is one transaction: broken off, the store is as it was. It
 * takes as much room on the disk again, twice for a moment.
 * @throws StartError `state_in_use` while a server has it
 */
export async function compactStore(stateDir: string): Promise<Compacted> {
  await assertStore(stateDir, '--state');
  const lock = await acquireLock(join(stateDir, 'lock.sqlite'), null);
  try {
    const path = join(stateDir, 'store.sqlite');
    const before = (await stat(path)).size;
    const db = await openWriter(path);
    try {
      // What is made beside it may have gigabytes.
      await db.exec('PRAGMA temp_store = FILE; PRAGMA auto_vacuum = INCREMENTAL; VACUUM');
      await db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } finally {
      await db.close();
    }
    return { path, before, after: (await stat(path)).size };
  } finally {
    await lock.release();
  }
}
