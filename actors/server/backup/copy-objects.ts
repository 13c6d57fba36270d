import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import PQueue from 'p-queue';
import pino from 'pino';
import { StartError } from '../../../machines/protocol/start-error.ts';
import { acquireLock, type Lock } from '../../shared/lock.ts';
import { BlobStore } from '../blobs/blob-store.ts';
import type { ObjectDriver } from '../blobs/driver.ts';
import { FolderObjects } from '../blobs/folder-objects.ts';
import { homeStatements, objectHome, storeId } from '../blobs/home.ts';
import type { S3Location } from '../blobs/s3/location.ts';
import { openBucket, openHome } from '../blobs/s3/open-home.ts';
import { DamagedBytesError, verified } from '../blobs/verify.ts';
import {
  type LostObject,
  lostObject,
  type NamedObject,
  namedObjects,
  sumOfObjects,
} from '../check/objects.ts';
import { openStore } from '../check/open-store.ts';
import type { Progress } from '../check/pages.ts';
import { type Connection, openWriter } from '../store/open.ts';
import { PlainStatements } from '../store/plain-statements.ts';
import { assertStore, STORE } from './save.ts';

export interface CopyOptions {
  state: string;
  /** Undefined for the folder of the state directory. */
  to: S3Location | undefined;
  onProgress?: Progress;
}

export interface CopiedObjects {
  from: string;
  to: string;
  named: number;
  bytes: number;
  /** Those that were not there yet. */
  copied: number;
  copied_bytes: number;
  /** Whole nowhere. */
  lost: LostObject[];
  /** Whether the store has its objects there from now on; not while a server runs that has them where they were. */
  moved: boolean;
}

/** Objects that are copied at the same time. */
const AT_ONCE = 4;

/**
 * Copies the objects that a store names to another place, each compared with its SHA-256 on the way; what lies there
 * already is not copied again. Without a server beside it, the store has them there afterwards. What was copied stays
 * where it was.
 * @throws StartError in words that say what to do
 */
export async function copyObjects({ state, to, onProgress = () => {} }: CopyOptions): Promise<CopiedObjects> {
  await assertStore(state, '--state');
  const lock = await acquireLock(join(state, 'lock.sqlite')).catch((error: unknown) => {
    if (error instanceof StartError && error.code === 'state_in_use') return null;
    throw error;
  });
  const path = join(state, STORE);
  const db = await (lock ? openWriter(path) : openStore(path, true)).catch(async (fault) => {
    await lock?.release();
    throw fault;
  });
  try {
    return await copy(db, { state, to, onProgress, lock });
  } finally {
    await db.close();
    await lock?.release();
  }
}

interface Copying extends Required<Pick<CopyOptions, 'state' | 'onProgress'>> {
  to: S3Location | undefined;
  lock: Lock | null;
}

async function copy(db: Connection, { state, to, onProgress, lock }: Copying): Promise<CopiedObjects> {
  const home = await objectHome(db);
  const [from, target] = [home?.url ?? state, to?.url ?? state];
  if (from === target)
    throw new StartError('objects_refused', `the objects of this store lie in ${from} already`);
  const id = (await storeId(db)) ?? randomUUID();
  // Known before it is written there, so that a copy that breaks off can be gone on with.
  if (lock) await write(db, homeStatements(id, home?.url));
  const source = home ? await openHome(home) : new FolderObjects(state);
  const driver = await targetOf(to, { state, id, claims: lock !== null });
  const report = { copied: 0, copied_bytes: 0, lost: [] as LostObject[] };
  const queries = new PlainStatements(db);
  const all = await sumOfObjects(queries);
  const blobs = writing(state, driver);
  const queue = new PQueue({ concurrency: AT_ONCE });
  let done = 0;
  const bring = async (object: NamedObject) => {
    if (!(await driver.isWhole(object))) {
      const fault = await send(source, blobs, object);
      if (fault === null) {
        report.copied++;
        report.copied_bytes += object.size_bytes;
      } else report.lost.push(lostObject(object, fault));
    }
    done += object.size_bytes;
    onProgress('copying the objects', done, all.bytes);
  };
  try {
    for await (const page of namedObjects(queries))
      await queue.addAll(page.map((object) => () => bring(object)));
  } finally {
    queue.clear();
    await queue.onIdle();
  }
  if (lock) await write(db, homeStatements(id, to?.url));
  return { from, to: target, ...all, ...report, moved: lock !== null };
}

async function targetOf(
  to: S3Location | undefined,
  { state, id, claims }: { state: string; id: string; claims: boolean },
): Promise<ObjectDriver> {
  if (to !== undefined) return claims ? openHome({ id, url: to.url }, true) : openBucket({ id, url: to.url });
  const folder = new FolderObjects(state);
  await folder.start();
  return folder;
}

const writing = (stateDir: string, driver: ObjectDriver): BlobStore =>
  new BlobStore({
    ...{
      stateDir,
      driver,
      maxBytes: Number.POSITIVE_INFINITY,
      reserveBytes: 0,
      log: pino({ level: 'silent' }),
    },
    // What is copied is named.
    ...{ isNamed: async () => true, isLeaving: async () => false },
  });

/** Null where it is there; else why it cannot be. */
async function send(source: ObjectDriver, blobs: BlobStore, object: NamedObject): Promise<string | null> {
  const { sha256, size_bytes } = object;
  const writer = await blobs.create(size_bytes);
  try {
    if (size_bytes > 0)
      for await (const piece of verified(source.read(sha256, 0, size_bytes - 1), object))
        await writer.write(piece);
    await writer.finish();
    await writer.keep();
    return null;
  } catch (error) {
    const loss = error instanceof DamagedBytesError ? 'damaged' : source.lossOf(error);
    if (loss === null) throw error;
    return loss;
  } finally {
    await writer.abort();
  }
}

async function write(db: Connection, statements: ReturnType<typeof homeStatements>): Promise<void> {
  await db.exec('BEGIN IMMEDIATE');
  for (const { sql, params } of statements) await db.run(sql, ...params);
  await db.exec('COMMIT');
}
