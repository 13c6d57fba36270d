import type { ObjectHome } from '../home.ts';
import { Bucket } from './bucket.ts';
import { s3Location } from './location.ts';
import { Owner } from './owner.ts';
import { S3Objects } from './s3-objects.ts';

const QUIET = { warn() {}, error() {} };

/**
 * The objects of a store, for a program that is of no use without them.
 * @param isNew whether there may be none yet
 * @throws StartError where they cannot be reached, or are another store's
 */
export async function openHome(home: ObjectHome, isNew = false): Promise<S3Objects> {
  const objects = await open(home, { isNew, isAnybodys: false });
  await objects.start();
  return objects;
}

/** To write objects where it is not decided yet whose they are. */
export const openBucket = (home: ObjectHome): Promise<S3Objects> =>
  open(home, { isNew: true, isAnybodys: true });

async function open(
  { id, url }: ObjectHome,
  how: { isNew: boolean; isAnybodys: boolean },
): Promise<S3Objects> {
  return new S3Objects({
    ...{ bucket: await Bucket.open(s3Location(url)), id, isNeeded: true, ...how },
    ...{ log: QUIET, now: () => Date.now() / 1000 },
  });
}

/** Makes the objects this store's, whichever store's they were. */
export async function takeOver({ id, url }: ObjectHome): Promise<void> {
  await new Owner(await Bucket.open(s3Location(url)), id).write(false);
}
