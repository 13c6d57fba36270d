import { setImmediate } from 'node:timers/promises';
import { cutDocument, type JobDocument } from './documents.ts';
import type { Turn } from './turn.ts';

/** Bytes of a specification beyond which it is read by itself, and others are served in between. */
const LARGE = 32 * 1024;

interface Found {
  job_id: string;
  bytes: number;
  /** Null where it is large. */
  request: string | null;
}

/**
 * The specifications of these jobs, from the cache, from this turn, or from the store.
 * @param most bytes of large ones that are read from the store; the first of them in any case, the others are left out
 */
export async function fetchDocuments(
  turn: Turn,
  jobs: Iterable<string>,
  most = Number.POSITIVE_INFINITY,
): Promise<Map<string, JobDocument>> {
  const { documents } = turn.core;
  const found = new Map<string, JobDocument>();
  const missing: string[] = [];
  const keep = (id: string, request: string) => {
    const document = cutDocument(request);
    documents.keep(id, document);
    found.set(id, document);
    return request.length > LARGE ? setImmediate() : undefined;
  };
  for (const id of jobs) {
    const known = documents.get(id);
    const request = known ? undefined : turn.requestOf(id);
    if (known) found.set(id, known);
    else if (request === undefined) missing.push(id);
    else await keep(id, request);
  }
  if (missing.length === 0) return found;
  const rows = new Map((await look(turn, missing)).map((row) => [row.job_id, row]));
  let read = 0;
  for (const id of missing) {
    const row = rows.get(id);
    if (!row) throw new Error(`the specification of job ${id} is not in the store`);
    if (row.request !== null) keep(id, row.request);
    else if (read === 0 || read + row.bytes <= most) {
      read += row.bytes;
      const request = await readLarge(turn, id);
      await setImmediate();
      await keep(id, request);
    }
  }
  return found;
}

function look({ core }: Turn, ids: readonly string[]): Promise<Found[]> {
  return core.store.reader.all<Found[]>(
    `SELECT job_id, octet_length(request) AS bytes, iif(octet_length(request) <= ${LARGE}, request, NULL) AS request
     FROM job_requests WHERE job_id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(ids),
  );
}

async function readLarge({ core }: Turn, id: string): Promise<string> {
  const row = await core.store.reader.get<{ request: string }>(
    'SELECT request FROM job_requests WHERE job_id = ?',
    id,
  );
  if (!row) throw new Error(`the specification of job ${id} is not in the store`);
  return row.request;
}
