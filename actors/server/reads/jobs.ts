import type { JobQuery, Piece } from '../../../gateway/backend.ts';
import type { JobRow } from '../store/rows.ts';
import { type Queries, sql } from '../store/sql.ts';
import { JOIN } from '../store/sql-words.ts';
import { JOBS } from '../store/tables.ts';
import { type JobHead, jobHeads, LONG_COLUMNS } from './job-heads.ts';
import { PICKED } from './json-text.ts';
import { partsOf, quoted, type ValueReaders, valueOrPlaceholder, withLongValues } from './long-values.ts';
import { inPages, planned } from './pages.ts';
import { jobView } from './views.ts';

/** A job as one text, marks in the place of long texts; nobody who reads needs the name in lower case. */
export const JOB_CELLS = JOBS.rowSql((column) => {
  if (column === 'name_folded') return 'NULL';
  const cell = `jobs.${column}`;
  return LONG_COLUMNS.includes(column) ? valueOrPlaceholder(cell, `job_${column}`, 'jobs.seq') : cell;
});

/** What the marks in a job's view stand for. */
export function jobValueReaders(db: Queries): ValueReaders {
  const filler = (value: string) => (seq: string) =>
    quoted(partsOf(db, { table: 'jobs', value, key: 'seq' }, Number(seq)));
  return Object.fromEntries(LONG_COLUMNS.map((column) => [`job_${column}`, filler(column)]));
}

/** The newest jobs that pass a filter, as pieces of JSON. */
export async function* jobList(db: Queries, query: JobQuery): AsyncGenerator<Piece> {
  const pages = inPages<JobHead>({
    plan: async (last, limit) => {
      const created_before = last?.created_at ?? query.created_before;
      const page = { ...query, limit, ...(created_before === undefined ? {} : { created_before }) };
      return planned(await jobHeads(db, page));
    },
    compose: async (heads) => {
      const seqs = JSON.stringify(heads.map(({ seq }) => seq));
      const rows = await db.all<{ cells: string }[]>(
        sql`${PICKED} SELECT ${JOB_CELLS} AS cells FROM picked ${JOIN} jobs ON jobs.seq = picked.seq`,
        seqs,
      );
      const jobs = rows.map(({ cells }) => JOBS.decode(cells)).sort((a, b) => b.seq - a.seq);
      return jobs.map((job: JobRow) => JSON.stringify(jobView(job, [], {}))).join(',');
    },
    limit: query.limit,
  });
  yield '[';
  yield* withLongValues(pages, jobValueReaders(db));
  yield ']';
}
