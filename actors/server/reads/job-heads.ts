import type { JobQuery } from '../../../gateway/backend.ts';
import { readReference } from '../../../machines/protocol/reference.ts';
import type { PreparedStatements } from '../store/prepared-statements.ts';
import { bytesOf } from './long-values.ts';
import type { RowHead } from './pages.ts';

/** Which job stands where in a list, before it is read. */
export interface JobHead extends RowHead {
  seq: number;
  created_at: number;
}

/** The columns whose texts came from clients without a limit once. */
export const LONG_COLUMNS = ['type', 'name', 'error', 'owner'];
const BYTES = bytesOf(
  1500,
  ...LONG_COLUMNS.map((column) => `jobs.${column}`),
  'jobs.warnings',
  'jobs.note',
  'jobs.tags',
  'jobs.standings',
);
/** The index of names finds what has at least so many characters: it is made of groups of three. */
const SHORTEST_INDEXED = 3;
/** Behind every text that begins with what stands before it. */
const BEHIND_ALL = '\u{10ffff}';
/** Ids that one statement looks at for their end: a few milliseconds. */
const LOOKED_AT = 20_000;

interface Statement {
  sql: string;
  params: (string | number)[];
}

interface Condition {
  sql: string;
  values: (string | number)[];
}

/** The newest jobs that pass a filter. `few` says that a status is rare enough to look at each job that has it. */
export async function jobHeads(
  db: PreparedStatements,
  query: JobQuery,
  few: (status: string) => boolean,
): Promise<JobHead[]> {
  const ends = query.ref === undefined ? undefined : endIn(query.ref);
  const lists = await Promise.all([
    ...headStatements(query, few).map(({ sql, params }) => db.all<JobHead[]>(sql, ...params)),
    ...(ends === undefined ? [] : [byEnd(db, ends, query)]),
  ]);
  if (lists.length === 1) return lists[0] as JobHead[];
  // A job may be found in several ways.
  const found = new Map(lists.flat().map((head) => [head.seq, head]));
  return [...found.values()].sort((a, b) => b.seq - a.seq).slice(0, query.limit);
}

/**
 * What is asked of the store: one statement, or one for each of the ways in which a reference can be meant, but for the
 * end of an id.
 */
export function headStatements(query: JobQuery, few: (status: string) => boolean): Statement[] {
  return query.ref === undefined ? [ordinary(query, few)] : referred(query.ref, query);
}

function ordinary(query: JobQuery, few: (status: string) => boolean): Statement {
  const { name, status } = query;
  const folded = name?.toLowerCase() ?? '';
  // For the index, a text ends at its first NUL.
  const isIndexed = [...folded].length >= SHORTEST_INDEXED && !folded.includes('\0');
  const byName = isIndexed && !(status !== undefined && few(status));
  if (!byName) return statement('jobs', 'jobs.created_at DESC', filters(query, ''), query.limit);
  const match = { sql: 'job_names MATCH ?', values: [`"${folded.replaceAll('"', '""')}"`] };
  return statement(
    'job_names CROSS JOIN jobs ON jobs.seq = job_names.rowid',
    // Jobs are numbered in the order of their creation.
    'job_names.rowid DESC',
    [match, ...filters(query, '+')],
    query.limit,
  );
}

/** Each way along an index of its own that has its rows in order, so that none is longer than the answer. */
function referred(ref: string, query: JobQuery): Statement[] {
  const { begins, name } = readReference(ref);
  const along = (order: string, condition: Condition) =>
    statement('jobs', order, [condition, ...filters(query, '+')], query.limit);
  const ways: Statement[] = [];
  if (begins !== undefined) {
    const values = [begins, begins + BEHIND_ALL];
    ways.push(along('jobs.id DESC', { sql: 'jobs.id >= ? AND jobs.id < ?', values }));
  }
  if (name !== undefined) ways.push(along('jobs.seq DESC', { sql: 'jobs.name_folded = ?', values: [name] }));
  return ways;
}

/** The end of an id that a reference may mean; a whole id is found by its beginning, and no id has other characters. */
function endIn(ref: string): string | undefined {
  const { begins, ends } = readReference(ref);
  return ends === undefined || /[^a-z0-9_]/.test(ends) || begins?.includes('_') ? undefined : ends;
}

/** The ids before one, the latest first, looked through for an end: which jobs have it, and how far that came. */
const ENDS_SQL = `SELECT min(id) AS reached, json_group_array(seq) FILTER (WHERE substr(id, ?) = ?) AS seqs
  FROM (SELECT id, seq FROM jobs WHERE id < ? ORDER BY id DESC LIMIT ?)`;

/**
 * The jobs whose id ends so. No index has the ends: they are random, so that it would cost every submission two pages
 * that are written, for what a person asks now and then. The ids stand together in their own index, and it is read in
 * pieces, between which others have their turn.
 */
async function byEnd(db: PreparedStatements, ends: string, query: JobQuery): Promise<JobHead[]> {
  const found: JobHead[] = [];
  let before: string | null = BEHIND_ALL;
  while (before !== null && found.length < query.limit) {
    const rows: { reached: string | null; seqs: string }[] = await db.all(
      ENDS_SQL,
      ...[-[...ends].length, ends, before, LOOKED_AT],
    );
    const { reached, seqs } = rows[0] as { reached: string | null; seqs: string };
    before = reached;
    if (seqs === '[]') continue;
    const picked = { sql: 'jobs.seq IN (SELECT value FROM json_each(?))', values: [seqs] };
    const { sql, params } = statement('jobs', 'jobs.seq DESC', [picked, ...filters(query, '+')], query.limit);
    found.push(...(await db.all<JobHead[]>(sql, ...params)));
  }
  return found;
}

/** @param plus `+` keeps SQLite's planner from following a filter rather than what was found */
function filters(
  { status, name, owner, resubmitted_from, created_before }: JobQuery,
  plus: '' | '+',
): Condition[] {
  const folded = name?.toLowerCase() ?? '';
  return [
    ...(folded === '' ? [] : [{ sql: 'instr(jobs.name_folded, ?) > 0', values: [folded] }]),
    ...(status === undefined ? [] : [{ sql: `${plus}jobs.status = ?`, values: [status] }]),
    ...(owner === undefined ? [] : [{ sql: `${plus}jobs.owner = ?`, values: [owner] }]),
    ...(resubmitted_from === undefined
      ? []
      : [{ sql: `${plus}jobs.resubmitted_from = ?`, values: [resubmitted_from] }]),
    ...(created_before === undefined
      ? []
      : [{ sql: `${plus}jobs.created_at < ?`, values: [created_before] }]),
  ];
}

function statement(from: string, order: string, conditions: Condition[], limit: number): Statement {
  const filter = conditions.length > 0 ? `WHERE ${conditions.map(({ sql }) => sql).join(' AND ')} ` : '';
  return {
    sql: `SELECT jobs.seq, jobs.created_at, ${BYTES} AS bytes FROM ${from} ${filter}ORDER BY ${order} LIMIT ?`,
    params: [...conditions.flatMap(({ values }) => values), limit],
  };
}
