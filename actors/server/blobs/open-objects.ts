import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { StartError } from '../../../machines/protocol/start-error.ts';
import { noChanges } from '../store/split-changes.ts';
import type { Store } from '../store/store.ts';
import type { ObjectDriver } from './driver.ts';
import { FolderObjects } from './folder-objects.ts';
import { homeStatements, objectHome, storeId } from './home.ts';
import type { S3Location } from './s3/location.ts';
import { assertUnmarked, markFolder } from './shared-folder.ts';

interface Opening {
  store: Store;
  stateDir: string;
  /** Where objects are to lie; undefined for the folder of the state directory. */
  place: S3Location | undefined;
  /** Whether clients that ask for it are sent there. */
  presigns: boolean;
  log: Logger;
  /** Seconds since the epoch. */
  now(): number;
}

/**
 * The place of a server's objects, which has to be the one that its store knows: with another it would have lost all of
 * its artifacts.
 * @throws StartError
 */
export async function openObjects({
  store,
  stateDir,
  place,
  presigns,
  log,
  now,
}: Opening): Promise<ObjectDriver> {
  const home = await objectHome(store.queries);
  const id = (await storeId(store.queries)) ?? randomUUID();
  if (place === undefined) {
    if (home === undefined) {
      if (store.isShared) await markFolder(stateDir, store.queries);
      else await assertUnmarked(stateDir);
      return new FolderObjects(stateDir);
    }
    throw new StartError(
      'objects_refused',
      `the objects of this store lie in ${home.url}: name it with --objects, or bring them here with: jq-server copy-objects`,
    );
  }
  const isNew = (await store.queries.get('SELECT 1 FROM artifacts LIMIT 1')) === undefined;
  if (home === undefined && !isNew)
    throw new StartError(
      'objects_refused',
      `the objects of this store lie in ${stateDir}: bring them to ${place.url} first, with: jq-server copy-objects`,
    );
  if (home?.url !== place.url) await store.commit({ ...noChanges(), further: homeStatements(id, place.url) });
  return s3Objects(place, { id, isNew, presigns, log, now });
}

/** Loaded only here: who has objects in a folder needs nothing of it. */
export async function s3Objects(
  place: S3Location,
  options: { id: string; isNew: boolean; presigns: boolean; log: Logger; now(): number },
): Promise<ObjectDriver> {
  const { Bucket } = await import('./s3/bucket.ts');
  const { S3Objects } = await import('./s3/s3-objects.ts');
  return new S3Objects({ ...options, bucket: await Bucket.open(place) });
}
