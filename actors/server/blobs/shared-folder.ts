import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { StartError } from '../../../machines/protocol/start-error.ts';
import { makeDirectory } from '../../shared/make-directory.ts';
import type { Queries } from '../store/sql.ts';
import { objectHome } from './home.ts';

/* Servers that stand by for each other find in the folder of the objects whose it is. */

/** Among the objects, the id of their store. */
export const MARK = '.store';
/** Milliseconds for which a server that has just begun to lead may take to write it, and between two looks. */
const PATIENCE = { all: 5_000, look: 100 };

const pathIn = (stateDir: string): string => join(stateDir, 'objects', MARK);

const idIn = (stateDir: string): Promise<string | null> =>
  readFile(pathIn(stateDir), 'utf8').then(
    (text) => text.trim(),
    () => null,
  );

/** Of a store that several servers share. */
const storeIdIn = async (queries: Queries): Promise<string | undefined> =>
  (await queries.get<{ id: string }>('SELECT id FROM store_id'))?.id;

/** Says in the folder of this server, which leads, whose objects these are. */
export async function markFolder(stateDir: string, queries: Queries): Promise<void> {
  const id = await storeIdIn(queries);
  if ((await idIn(stateDir)) === id) return;
  await makeDirectory(join(stateDir, 'objects'));
  await writeFile(pathIn(stateDir), `${id}\n`);
}

/**
 * Whether a server that would stand by has the folder of the one that leads.
 * @throws StartError `objects_refused`
 */
export async function assertSharedFolder(
  { stateDir, log }: { stateDir: string; log: Logger },
  { queries, isOurs }: { queries: Queries; isOurs(): Promise<boolean> },
): Promise<void> {
  const folder = join(stateDir, 'objects');
  if (!(await isOurs())) {
    log.warn(
      { objects: folder },
      'whether the objects are shared is not known before a server of this version has led',
    );
    return;
  }
  for (
    const until = performance.now() + PATIENCE.all;
    performance.now() < until;
    await pause(PATIENCE.look)
  ) {
    const home = await objectHome(queries);
    if (home !== undefined)
      throw new StartError(
        'objects_refused',
        `the objects of this store lie in ${home.url}: name it with --objects`,
      );
    const id = await storeIdIn(queries);
    if (id !== undefined && (await idIn(stateDir)) === id) return;
  }
  throw new StartError(
    'objects_refused',
    `another server leads, and ${folder} is not the folder of its objects: after a take-over all artifacts would be missing; ` +
      'make it the same folder, as by a mount or a symbolic link to a shared disk, or keep the objects in S3 (--objects, jq-server copy-objects)',
  );
}
