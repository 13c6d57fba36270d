import PQueue from 'p-queue';
import { StartError } from '../../../machines/protocol/start-error.ts';
import type { ObjectBytes, ObjectDriver } from '../blobs/driver.ts';
import type { Queries } from '../store/sql.ts';

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
  /** What lies among objects and no artifact names, with nothing lost by it. */
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

/** Objects that are read at the same time: as many as Node.js has threads for files. */
const AT_ONCE = 4;
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
  db: Queries,
  driver: ObjectDriver,
  onBytes: (done: number, total: number) => void,
): Promise<ObjectsReport> {
  const all = await sumOfObjects(db);
  const lost: LostObject[] = [];
  const queue = new PQueue({ concurrency: AT_ONCE });
  let done = 0;
  const look = async (object: NamedObject) => {
    let left = object.size_bytes;
    const why = await whyLost(driver, object, (bytes) => {
      done += bytes;
      left -= bytes;
      onBytes(done, all.bytes);
    });
    done += left;
    onBytes(done, all.bytes);
    if (why !== null) lost.push(lostObject(object, why));
  };
  for await (const page of namedObjects(db)) await queue.addAll(page.map((object) => () => look(object)));
  lost.sort((a, b) => (a.sha256 < b.sha256 ? -1 : 1));
  return { ...all, lost, unnamed: [] };
}

/** How many objects artifacts name, and their bytes. */
export async function sumOfObjects(db: Queries): Promise<Pick<ObjectsReport, 'named' | 'bytes'>> {
  const all = await db.get<{ n: number; bytes: number | null }>(
    `SELECT count(*) AS n, sum(size_bytes) AS bytes FROM (${named('')}) AS objects`,
  );
  return { named: all?.n ?? 0, bytes: all?.bytes ?? 0 };
}

/** Every object that an artifact names, by its hash, a page at a time. */
export async function* namedObjects(db: Queries): AsyncGenerator<NamedObject[]> {
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
  driver: ObjectDriver,
  { sha256, size_bytes }: ObjectBytes,
  onBytes: (bytes: number) => void = () => {},
): Promise<string | null> {
  try {
    const size = await driver.size(sha256);
    if (size === null)
      return (await driver.isSetAside(sha256)) ? 'damaged, and put aside by the server' : 'missing';
    if (size < 0) return 'damaged: what lies there is no file';
    if (size !== size_bytes) return `damaged: ${size} bytes instead of ${size_bytes}`;
    return (await driver.hash(sha256, onBytes)) === sha256 ? null : 'damaged: its bytes have another hash';
  } catch (error) {
    // Of the place, and not of this object.
    if (error instanceof StartError) throw error;
    return `cannot be read (${(error as NodeJS.ErrnoException).code ?? error})`;
  }
}

/** What lies among objects and no artifact names, by its paths, in their order. */
export async function findUnnamed(db: Queries, driver: ObjectDriver): Promise<string[]> {
  const unnamed: string[] = [];
  for await (const { path, sha256 } of driver.list()) {
    if (sha256 !== null && (await db.get('SELECT 1 FROM artifacts WHERE sha256 = ?', sha256))) continue;
    unnamed.push(path);
  }
  return unnamed.sort();
}

/** The objects that are removed when their day is over; none in a store of an earlier version. */
export async function awaitingRemoval(db: Queries): Promise<Set<string>> {
  const rows = await db.all<{ sha256: string }[]>('SELECT sha256 FROM unnamed_objects').catch(() => []);
  return new Set(rows.map(({ sha256 }) => sha256));
}
