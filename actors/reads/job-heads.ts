import type { JobQuery } from '../../gateway/ports.ts';
import { readReference } from '../../machines/reference.ts';
import type { Prepared } from '../store/prepared.ts';
import { bytesOf } from './holes.ts';
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
  'jobs.standings',
);
/** The index of names finds what has at least so many characters: it is made of groups of three. */
const SHORTEST_INDEXED = 3;
/** Behind every text that begins with what stands before it. */
const BEHIND_ALL = '\u{10ffff}';
/** Characters of the end of an id that are indexed, the last one first; spelt as in the index. */
const END_LENGTH = 8;
const END = Array.from({ length: END_LENGTH }, (_, i) => `substr(jobs.id, -${i + 1}, 1)`).join(' || ');

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
  db: Prepared,
  query: JobQuery,
  few: (status: string) => boolean,
): Promise<JobHead[]> {
  const lists = await Promise.all(
    headStatements(query, few).map(({ sql, params }) => db.all<JobHead[]>(sql, ...params)),
  );
  if (lists.length === 1) return lists[0] as JobHead[];
  // A job may be found in several ways.
  const found = new Map(lists.flat().map((head) => [head.seq, head]));
  return [...found.values()].sort((a, b) => b.seq - a.seq).slice(0, query.limit);
}

/** What is asked of the store: one statement, or one for each of the ways in which a reference can be meant. */
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
  const { begins, ends, name } = readReference(ref);
  const along = (order: string, condition: Condition) =>
    statement('jobs', order, [condition, ...filters(query, '+')], query.limit);
  const range = (column: string, prefix: string): Condition => ({
    sql: `${column} >= ? AND ${column} < ?`,
    values: [prefix, prefix + BEHIND_ALL],
  });
  const ways: Statement[] = [];
  if (begins !== undefined) ways.push(along('jobs.id DESC', range('jobs.id', begins)));
  if (ends !== undefined) {
    const { sql, values } = range(END, [...ends].reverse().slice(0, END_LENGTH).join(''));
    const whole = { sql: `${sql} AND substr(jobs.id, ?) = ?`, values: [...values, -[...ends].length, ends] };
    ways.push(along(`${END} DESC`, whole));
  }
  if (name !== undefined) ways.push(along('jobs.seq DESC', { sql: 'jobs.name_folded = ?', values: [name] }));
  return ways;
}

/** @param plus `+` keeps SQLite's planner from following a filter rather than what was found */
function filters({ status, name, owner, created_before }: JobQuery, plus: '' | '+'): Condition[] {
  const folded = name?.toLowerCase() ?? '';
  return [
    ...(folded === '' ? [] : [{ sql: 'instr(jobs.name_folded, ?) > 0', values: [folded] }]),
    ...(status === undefined ? [] : [{ sql: `${plus}jobs.status = ?`, values: [status] }]),
    ...(owner === undefined ? [] : [{ sql: `${plus}jobs.owner = ?`, values: [owner] }]),
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
