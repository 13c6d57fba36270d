import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { StartError } from '../../../machines/protocol/start-error.ts';
import { makeDirectory } from '../../shared/make-directory.ts';
import type { Queries } from '../store/sql.ts';
import { objectHome } from './home.ts';
import type { S3Location } from './s3/location.ts';

/* Servers that stand by for each other find in the folder of the objects whose it is, and others that it is not theirs. */

/** Among the objects, the id of their store. */
export const MARK = '.store';
/** Milliseconds for which a server that has just begun to lead may take to write it, and between two looks. */
const PATIENCE = { all: 5_000, look: 100 };

const pathIn = (stateDir: string): string => join(stateDir, 'objects', MARK);

/** Null for nobody's; a server that died while it wrote the mark has left an empty one. */
const idIn = (stateDir: string): Promise<string | null> =>
  readFile(pathIn(stateDir), 'utf8').then(
    (text) => text.trim() || null,
    () => null,
  );

/** Of a store that several servers share. */
export const sharedStoreId = async (queries: Queries): Promise<string | undefined> =>
  (await queries.get<{ id: string }>('SELECT id FROM store_id'))?.id;

/**
 * Says in the folder of this server, which leads, whose objects these are. Two stores that share one would remove each what
 * only the other names.
 * @throws StartError `objects_refused` where they are another store's
 */
export async function markFolder(stateDir: string, queries: Queries): Promise<void> {
  const [id, found] = [await sharedStoreId(queries), await idIn(stateDir)];
  if (found === id) return;
  if (found !== null)
    throw new StartError(
      'objects_refused',
      `the objects in ${join(stateDir, 'objects')} belong to another store than the one that --store names; ` +
        `name that one, or another state directory, or, where that store is gone for good, remove ${pathIn(stateDir)}`,
    );
  await makeDirectory(join(stateDir, 'objects'));
  await writeFile(pathIn(stateDir), `${id}\n`);
}

/**
 * Of a store that nobody shares, and so has written no mark.
 * @throws StartError `objects_refused` where the objects are those of one that several servers share
 */
export async function assertUnmarked(stateDir: string): Promise<void> {
  if ((await idIn(stateDir)) === null) return;
  throw new StartError(
    'objects_refused',
    `the objects in ${join(stateDir, 'objects')} belong to a store in PostgreSQL: name it with --store, or another state directory with --state, ` +
      `or, where that store is gone for good, remove ${pathIn(stateDir)}`,
  );
}

/** Whichever store that was: the objects are those of one now that no other server stands by for, or were until now. */
export const unmarkFolder = (stateDir: string): Promise<void> => rm(pathIn(stateDir), { force: true });

/**
 * Whether a server that would stand by has its objects where the one that leads has them.
 * @throws StartError `objects_refused`
 */
export async function assertSharedObjects(
  { stateDir, objects: place, log }: { stateDir: string; objects?: S3Location | undefined; log: Logger },
  { queries, isOurs }: { queries: Queries; isOurs(): Promise<boolean> },
): Promise<void> {
  const folder = join(stateDir, 'objects');
  if (!(await isOurs())) {
    log.warn(
      { objects: place?.url ?? folder },
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
    if (home !== undefined && home.url === place?.url) return;
    if (home !== undefined)
      throw new StartError(
        'objects_refused',
        `the objects of this store lie in ${home.url}: name it with --objects`,
      );
    const id = await sharedStoreId(queries);
    if (place === undefined && id !== undefined && (await idIn(stateDir)) === id) return;
  }
  throw new StartError(
    'objects_refused',
    place === undefined
      ? `another server leads, and ${folder} is not the folder of its objects: after a take-over all artifacts would be missing; ` +
          'make it the same folder, as by a mount or a symbolic link to a shared disk, or keep the objects in S3 (--objects, jq-server copy-objects)'
      : `another server leads, and its objects lie in a folder, not in ${place.url}: after a take-over all artifacts would be missing; ` +
          `leave --objects out, and make ${folder} the same folder, as by a mount or a symbolic link to a shared disk`,
  );
}
