import { readdir, stat } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { damagedPath, isHash, objectPath } from '../blobs/paths.ts';
import { hashOf } from '../blobs/verify.ts';
import type { Connection } from '../store/open.ts';

/** An object whose artifacts cannot be downloaded. */
export interface LostObject {
  sha256: string;
  /** One of its artifacts. */
  artifact_id: string;
  artifacts: number;
  why: string;
}

export interface ObjectsReport {
  /** Objects that artifacts name. */
  named: number;
  bytes: number;
  lost: LostObject[];
  /** Files below `objects/` that no artifact names, with nothing lost by it. */
  unnamed: string[];
}

/** An object as the artifacts that name it say it is. */
export interface NamedObject {
  sha256: string;
  size_bytes: number;
  /** One of its artifacts. */
  id: string;
  /** How many artifacts name it. */
  n: number;
}

/** Rows read at a time. */
const PAGE = 1000;

const named = (where: string): string =>
  `SELECT sha256, max(size_bytes) AS size_bytes, min(id) AS id, count(*) AS n FROM artifacts ${where}
   GROUP BY sha256 ORDER BY sha256`;

/**
 * Reads every object that an artifact names, and looks for those that none names.
 * @param onBytes told how many of how many bytes were read
 */
export async function checkObjects(
  db: Connection,
  stateDir: string,
  onBytes: (done: number, total: number) => void,
): Promise<ObjectsReport> {
  const all = await sumOfObjects(db);
  const lost: LostObject[] = [];
  let done = 0;
  for await (const page of namedObjects(db)) {
    for (const object of page) {
      let read = 0;
      const why = await whyLost(stateDir, object, (bytes) => {
        read += bytes;
        onBytes(done + read, all.bytes);
      });
      done += object.size_bytes;
      onBytes(done, all.bytes);
      if (why !== null) lost.push(lostObject(object, why));
    }
  }
  return { ...all, lost, unnamed: [] };
}

/** How many objects artifacts name, and their bytes. */
export async function sumOfObjects(db: Connection): Promise<Pick<ObjectsReport, 'named' | 'bytes'>> {
  const all = await db.get<{ n: number; bytes: number | null }>(
    `SELECT count(*) AS n, sum(size_bytes) AS bytes FROM (${named('')})`,
  );
  return { named: all?.n ?? 0, bytes: all?.bytes ?? 0 };
}

/** Every object that an artifact names, by its hash, a page at a time. */
export async function* namedObjects(db: Connection): AsyncGenerator<NamedObject[]> {
  for (let after = '', full = true; full; ) {
    const page = await db.all<NamedObject[]>(`${named('WHERE sha256 > ?')} LIMIT ${PAGE}`, after);
    yield page;
    after = page.at(-1)?.sha256 ?? after;
    full = page.length === PAGE;
  }
}

export const lostObject = ({ sha256, id, n }: NamedObject, why: string): LostObject => ({
  sha256,
  artifact_id: id,
  artifacts: n,
  why,
});

/** Why an object is not what its artifacts say; null when it is. */
export async function whyLost(
  stateDir: string,
  { sha256, size_bytes }: Pick<NamedObject, 'sha256' | 'size_bytes'>,
  onBytes: (bytes: number) => void = () => {},
): Promise<string | null> {
  const path = join(stateDir, objectPath(sha256));
  const found = await stat(path).catch(() => null);
  if (!found) {
    const aside = await stat(join(stateDir, damagedPath(sha256))).catch(() => null);
    return aside ? 'damaged, and put aside by the server' : 'missing';
  }
  if (found.size !== size_bytes) return `damaged: ${found.size} bytes instead of ${size_bytes}`;
  try {
    return (await hashOf(path, onBytes)) === sha256 ? null : 'damaged: its bytes have another hash';
  } catch (error) {
    return `cannot be read (${(error as NodeJS.ErrnoException).code ?? error})`;
  }
}

/**
 * Files below `objects/` that no artifact names, by their paths from the state directory. An upload under way has a
 * mark until its artifact is recorded; so the mark is looked for first.
 */
export async function findUnnamed(db: Connection, stateDir: string): Promise<string[]> {
  const unnamed: string[] = [];
  for await (const path of filesBelow(join(stateDir, 'objects'))) {
    const name = basename(path);
    const shown = relative(stateDir, path);
    const sha256 = name.replace(/\.damaged$/, '');
    const belongs = isHash(sha256) && [objectPath(sha256), damagedPath(sha256)].includes(shown);
    if (belongs) {
      if (await stat(join(stateDir, 'uploads', sha256)).catch(() => null)) continue;
      if (await db.get('SELECT 1 FROM artifacts WHERE sha256 = ?', sha256)) continue;
    }
    unnamed.push(shown);
  }
  return unnamed.sort();
}

/** The objects that are removed when their day is over; none in a store of an earlier version. */
export async function awaitingRemoval(db: Connection): Promise<Set<string>> {
  const rows = await db.all<{ sha256: string }[]>('SELECT sha256 FROM unnamed_objects').catch(() => []);
  return new Set(rows.map(({ sha256 }) => sha256));
}

async function* filesBelow(folder: string): AsyncGenerator<string> {
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else yield path;
  }
}
