import type { JobQuery } from '../../gateway/ports.ts';
import type { Prepared } from '../store/prepared.ts';
import type { JobRow } from '../store/rows.ts';
import { JOBS, type SqlRow } from '../store/tables.ts';
import { jobView } from '../views.ts';
import { bytesOf, type Fillers, filled, partsOf, quoted, valueOrMark } from './holes.ts';
import { PICKED } from './json-text.ts';
import { inPages, type RowHead } from './pages.ts';

/** The columns whose texts came from clients without a limit once. */
const LONG_COLUMNS = ['type', 'name', 'error', 'owner'];
const BYTES = bytesOf(1500, ...LONG_COLUMNS.map((column) => `jobs.${column}`), 'jobs.warnings');

/** The columns of a job, marks in the place of long texts; nobody who reads needs the name in lower case. */
export const JOB_COLUMNS = JOBS.columns
  .filter((column) => column !== 'name_folded')
  .map((column) =>
    LONG_COLUMNS.includes(column)
      ? `${valueOrMark(`jobs.${column}`, `job_${column}`, 'jobs.seq')} AS ${column}`
      : `jobs.${column}`,
  )
  .join(', ');

/** What the marks in a job's view stand for. */
export function jobFillers(db: Prepared): Fillers {
  const filler = (value: string) => (seq: string) =>
    quoted(partsOf(db, { table: 'jobs', value, key: 'seq' }, Number(seq)));
  return Object.fromEntries(LONG_COLUMNS.map((column) => [`job_${column}`, filler(column)]));
}

interface Head extends RowHead {
  seq: number;
  created_at: number;
}

/** The newest jobs that pass a filter, as pieces of JSON. */
export async function* jobList(
  db: Prepared,
  query: JobQuery,
  few: (status: string) => boolean,
): AsyncGenerator<string> {
  const pages = inPages<Head>({
    plan: (last, limit) => {
      const created_before = last?.created_at ?? query.created_before;
      const page = { ...query, limit, ...(created_before === undefined ? {} : { created_before }) };
      const { sql, params } = jobHeads(page, few);
      return db.all(sql, ...params);
    },
    compose: async (heads) => {
      const seqs = JSON.stringify(heads.map(({ seq }) => seq));
      const rows = await db.all<SqlRow[]>(
        `${PICKED} SELECT ${JOB_COLUMNS} FROM picked CROSS JOIN jobs ON jobs.seq = picked.seq`,
        seqs,
      );
      const jobs = rows.map((row) => JOBS.decode(row)).sort((a, b) => b.seq - a.seq);
      return jobs.map((job: JobRow) => JSON.stringify(jobView(job, [], {}))).join(',');
    },
    limit: query.limit,
  });
  yield '[';
  yield* filled(pages, jobFillers(db));
  yield ']';
}

/** The index of names finds what has at least so many characters: it is made of groups of three. */
const SHORTEST_INDEXED = 3;

/** A query for the newest jobs that pass a filter. `few` says that a status is rare enough to look at each job that has it. */
export function jobHeads(
  { status, name, created_before, limit }: JobQuery,
  few: (status: string) => boolean,
): { sql: string; params: (string | number)[] } {
  const conditions: string[] = [];
  const params: (string | number)[] = [];
  const where = (condition: string, ...values: (string | number)[]) => {
    conditions.push(condition);
    params.push(...values);
  };
  const folded = name?.toLowerCase() ?? '';
  const byName = [...folded].length >= SHORTEST_INDEXED && !(status !== undefined && few(status));
  if (byName) where('job_names MATCH ?', `"${folded.replaceAll('"', '""')}"`);
  if (folded !== '') where('instr(jobs.name_folded, ?) > 0', folded);
  // With the unary plus the planner follows the names, not the status.
  if (status !== undefined) where(byName ? '+jobs.status = ?' : 'jobs.status = ?', status);
  if (created_before !== undefined)
    where(byName ? '+jobs.created_at < ?' : 'jobs.created_at < ?', created_before);
  const from = byName ? 'job_names CROSS JOIN jobs ON jobs.seq = job_names.rowid' : 'jobs';
  // Jobs are numbered in the order of their creation.
  const order = byName ? 'job_names.rowid DESC' : 'jobs.created_at DESC';
  const filter = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')} ` : '';
  const sql = `SELECT jobs.seq, jobs.created_at, ${BYTES} AS bytes FROM ${from} ${filter}ORDER BY ${order} LIMIT ?`;
  return { sql, params: [...params, limit] };
}
