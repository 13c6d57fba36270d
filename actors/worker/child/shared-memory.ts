import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { system } from './system.ts';

/** Where Linux keeps what processes share by name. */
const FOLDER = '/dev/shm';

/**
 * Names that say which process made them: semaphores of loky, and the arrays that joblib hands to its processes. Both are removed by
 * their makers, but not by those that are killed with all that they started. Semaphores and blocks of Python's own `multiprocessing`
 * do not say whose they are, and stay.
 */
const MADE_BY = /^(?:sem\.loky-|joblib_memmapping_folder_)(\d+)[-_]/;

/**
 * Removes what processes left in shared memory that are gone, as far as its name, its owner and its age say that it was theirs.
 * @param pids of processes of one task, none of which lives any more
 * @param since when the first of them began, in milliseconds since the epoch
 */
export async function removeShared(pids: ReadonlySet<number>, since: number, folder = FOLDER): Promise<void> {
  const uid = process.getuid?.();
  if (uid === undefined) return;
  for (const name of await readdir(folder).catch(() => [])) {
    const pid = Number(MADE_BY.exec(name)?.[1]);
    // An id that is used again is of a stranger, who may have made it.
    if (!pids.has(pid) || system.rowOf(pid)?.zombie === false) continue;
    const path = join(folder, name);
    const found = await lstat(path).catch(() => null);
    if (found === null || found.uid !== uid || found.birthtimeMs < since) continue;
    await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}
