import type { JobCell } from '../runtime/actor-cell.ts';
import type { JobRow } from '../store/rows.ts';
import { differing, sql } from '../store/sql.ts';
import { each } from '../store/sql-words.ts';
import type { Turn } from '../turn/turn.ts';

const TAGS = each('jobs.tags', 'text', 't');

/**
 * Changes what a job is called, what is said of it, and by what it is found. Rows of jobs are written often, and these
 * columns never with them: their indexes would be written each time.
 */
export function describeJob(
  turn: Turn,
  job: JobCell,
  change: Partial<Pick<JobRow, 'name' | 'note' | 'tags'>>,
): void {
  const { seq } = job.row;
  job.amend(turn, change);
  const { name, note, tags } = job.row;
  const folded = 'name_folded FROM jobs WHERE seq = ? AND name_folded IS NOT NULL';
  turn.further.push(
    // The index of names has no texts of its own, so that it has to be told what it knows.
    {
      sql: differing(
        `INSERT INTO job_names (job_names, rowid, name_folded) SELECT 'delete', seq, ${folded}`,
        '',
      ),
      params: [seq],
    },
    {
      sql: sql`DELETE FROM job_tags WHERE (tag, seq) IN (SELECT t.value, jobs.seq FROM jobs CROSS JOIN ${TAGS} WHERE jobs.seq = ?)`,
      params: [seq],
    },
    {
      sql: 'UPDATE jobs SET name = ?, name_folded = ?, note = ?, tags = ? WHERE seq = ?',
      params: [name, name?.toLowerCase() ?? null, note, tags.length > 0 ? JSON.stringify(tags) : null, seq],
    },
    { sql: differing(`INSERT INTO job_names (rowid, name_folded) SELECT seq, ${folded}`, ''), params: [seq] },
    {
      sql: sql`INSERT INTO job_tags (tag, seq, owner, type) SELECT t.value, jobs.seq, jobs.owner, jobs.type FROM jobs CROSS JOIN ${TAGS} WHERE jobs.seq = ?`,
      params: [seq],
    },
  );
}
