import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDamage, storeDamaged } from './damage.ts';
import { openReader } from './open.ts';

/** Milliseconds that the look at the pages may take by itself. */
const LOOK_MS = 500;

/**
 * Looks at the pages of a store beside what else goes on at the start: as long as that lasts, and half a second at
 * least. So a store of some hundred megabytes is seen whole, and no start waits for gigabytes to be read.
 * @param meanwhile what else goes on
 * @throws StartError `store_unreadable` for damage; else what `meanwhile` throws
 */
export async function checkPagesDuring(stateDir: string, meanwhile: Promise<void>): Promise<void> {
  const reader = await openReader(join(stateDir, 'store.sqlite'));
  let timer: NodeJS.Timeout | undefined;
  const atLeast = new Promise((enough) => {
    timer = setTimeout(enough, LOOK_MS);
  });
  let looking = true;
  const look = reader
    .all<{ quick_check: string }[]>('PRAGMA quick_check(1)')
    .then((rows) => rows.map((row) => row.quick_check).find((text) => text !== 'ok'))
    .catch((error: Error) => {
      if (isDamage(error)) return error.message;
      // It took too long, or the disk cannot be read at all, of which others will tell.
      return undefined;
    })
    .finally(() => {
      looking = false;
    });
  const [done] = await Promise.allSettled([meanwhile]);
  await Promise.race([look, atLeast]);
  clearTimeout(timer);
  if (looking) reader.getDatabaseInstance().interrupt();
  const found = await look;
  await reader.close();
  if (found !== undefined) throw storeDamaged(stateDir, found.split('\n').slice(-1).join());
  if (done.status === 'rejected') throw done.reason;
}

/** Whether some object lies below `objects/`. */
export async function hasObjects(folder: string): Promise<boolean> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    // What begins with a dot says something of the folder.
    if (
      (entry.isFile() && !entry.name.startsWith('.')) ||
      (entry.isDirectory() && (await hasObjects(join(folder, entry.name))))
    )
      return true;
  }
  return false;
}
