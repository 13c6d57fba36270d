import type { JobQuery } from '../../gateway/ports.ts';

/** The index of names finds what has at least so many characters: it is made of groups of three. */
const SHORTEST_INDEXED = 3;

/** A query for the newest jobs that pass a filter. `few` says that a status is rare enough to look at each job that has it. */
export function jobList(
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
  return { sql: `SELECT jobs.* FROM ${from} ${filter}ORDER BY ${order} LIMIT ?`, params: [...params, limit] };
}
