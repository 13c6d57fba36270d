import { setImmediate } from 'node:timers/promises';
import { sql } from '../store/sql.ts';
import { amongTexts } from '../store/sql-words.ts';
import { inSteps } from '../turn/steps.ts';
import type { Turn } from '../turn/turn.ts';
import { cutJobPieces, type JobPieces } from './job-pieces.ts';

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
export async function fetchJobPieces(
  turn: Turn,
  jobs: Iterable<string>,
  most = Number.POSITIVE_INFINITY,
): Promise<Map<string, JobPieces>> {
  const { jobPieces } = turn.core;
  const found = new Map<string, JobPieces>();
  const missing: string[] = [];
  const keep = async (id: string, request: string) => {
    const plain = await inSteps(cutJobPieces(request));
    const variants = plain.expands ? await variantsOf(turn, id) : undefined;
    const pieces = variants === undefined ? plain : await inSteps(cutJobPieces(request, variants));
    jobPieces.keep(id, pieces);
    found.set(id, pieces);
    if (request.length > LARGE) await setImmediate();
  };
  for (const id of jobs) {
    const known = jobPieces.get(id);
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
    if (row.request !== null) await keep(id, row.request);
    else if (read === 0 || read + row.bytes <= most) {
      read += row.bytes;
      const request = await readRequest(turn, id);
      await setImmediate();
      await keep(id, request);
    }
  }
  return found;
}

/** What was found in the pipeline of a job; undefined until then. */
async function variantsOf(turn: Turn, id: string): Promise<string | undefined> {
  const fresh = turn.variantsOf(id);
  if (fresh !== undefined) return fresh;
  const row = await turn.core.store.reader.get<{ variants: string }>(
    'SELECT variants FROM job_variants WHERE job_id = ?',
    id,
  );
  return row?.variants;
}

function look({ core }: Turn, ids: readonly string[]): Promise<Found[]> {
  return core.store.reader.all<Found[]>(
    sql`SELECT job_id, octet_length(request) AS bytes, CASE WHEN octet_length(request) <= ${LARGE} THEN request END AS request
     FROM job_requests WHERE job_id ${amongTexts()}`,
    JSON.stringify(ids),
  );
}

/** The specification of a job, as it was submitted. */
export async function readRequest(turn: Turn, id: string): Promise<string> {
  const fresh = turn.requestOf(id);
  if (fresh !== undefined) return fresh;
  const row = await turn.core.store.reader.get<{ request: string }>(
    'SELECT request FROM job_requests WHERE job_id = ?',
    id,
  );
  if (!row) throw new Error(`the specification of job ${id} is not in the store`);
  return row.request;
}
