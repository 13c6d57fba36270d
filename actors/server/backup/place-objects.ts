import { copyFile, link, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import PQueue from 'p-queue';
import { makeDirectory } from '../../shared/make-directory.ts';
import { FolderObjects } from '../blobs/folder-objects.ts';
import { objectPath } from '../blobs/paths.ts';
import { type LostObject, lostObject, type NamedObject, namedObjects, whyLost } from '../check/objects.ts';
import type { Queries } from '../store/sql.ts';

/** A folder with objects below it. */
export interface Source {
  folder: string;
  /** Whether an object may be one file with the one there, under two names: it is a backup as well. */
  links: boolean;
}

export interface PlacedObjects {
  /** Of those that were not there yet: which became a second name of a file, and which were copied. */
  linked: number;
  copied: number;
  /** What the copied ones take. */
  copied_bytes: number;
  /** Whole nowhere. */
  lost: LostObject[];
}

/** Objects that are read and written at the same time: as many as Node.js has threads for files. */
const AT_ONCE = 4;
/** File systems that know no second names say so in one of these ways. */
const NO_LINKS = new Set(['EPERM', 'EXDEV', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL']);

/**
 * Brings every object that the artifacts of a store name below a folder. Each is read there, or where it is linked
 * from, and compared with its hash; one that is damaged in one source is taken from the next. What lies there already
 * is kept, which is how a backup goes on that was broken off.
 * @param sources in the order in which they are tried
 */
export async function placeObjects(
  db: Queries,
  folder: string,
  sources: readonly Source[],
  onBytes: (done: number) => void,
): Promise<PlacedObjects> {
  const placed: PlacedObjects = { linked: 0, copied: 0, copied_bytes: 0, lost: [] };
  const queue = new PQueue({ concurrency: AT_ONCE });
  let done = 0;
  const place = async (object: NamedObject) => {
    const how = await bring(object, folder, sources);
    if (how === 'linked') placed.linked++;
    if (how === 'copied') {
      placed.copied++;
      placed.copied_bytes += object.size_bytes;
    }
    if (how === 'lost') {
      // What is told is how it is where it should be first of all.
      const origin = sources.at(-1)?.folder ?? folder;
      placed.lost.push(lostObject(object, (await whyLostIn(origin, object)) ?? 'damaged on its way'));
    }
    done += object.size_bytes;
    onBytes(done);
  };
  try {
    for await (const page of namedObjects(db)) {
      await queue.addAll(page.map((object) => () => place(object)));
    }
  } finally {
    // After a fault nothing writes any more: whoever is told of it may take the folder away.
    queue.clear();
    await queue.onIdle();
  }
  return placed;
}

/** @returns how it came there */
async function bring(
  object: NamedObject,
  folder: string,
  sources: readonly Source[],
): Promise<'there' | 'linked' | 'copied' | 'lost'> {
  const target = join(folder, objectPath(object.sha256));
  if ((await whyLostIn(folder, object)) === null) {
    await syncFile(target);
    return 'there';
  }
  await makeDirectory(dirname(target));
  for (const source of sources) {
    await rm(target, { force: true });
    const path = join(source.folder, objectPath(object.sha256));
    if (source.links && (await whyLostIn(source.folder, object)) === null && (await linked(path, target)))
      return 'linked';
    if ((await copied(path, target)) && (await whyLostIn(folder, object)) === null) return 'copied';
  }
  await rm(target, { force: true });
  return 'lost';
}

const whyLostIn = (folder: string, object: NamedObject): Promise<string | null> =>
  whyLost(new FolderObjects(folder), object);

async function linked(path: string, target: string): Promise<boolean> {
  try {
    await link(path, target);
    return true;
  } catch (error) {
    if (NO_LINKS.has((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** Whether there was something that could be read; it has its name only once all of it is on the disk. */
async function copied(path: string, target: string): Promise<boolean> {
  const part = `${target}.part`;
  try {
    await copyFile(path, part);
    await syncFile(part);
    await rename(part, target);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The disk of the source cannot give it; all else is about the target.
    if (code === 'ENOENT' || code === 'EIO') return false;
    throw error;
  }
}

export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
