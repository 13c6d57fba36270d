import type { JobQuery } from '../../../gateway/backend.ts';
import { LIMITS } from '../../../machines/protocol/limits.ts';
import { readReference } from '../../../machines/protocol/reference.ts';
import type { TypeEnding } from '../../../machines/schema/job-types.ts';
import { differing, joinSql, type Queries, type SqlText, sql } from '../store/sql.ts';
import { amongNumbers, indexedBy, LIMIT } from '../store/sql-words.ts';
import { type Condition, chosenWay, type OneQuery, restOf, type Way, waysOf } from './job-ways.ts';
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
/** Behind every text that begins with what stands before it. */
const BEHIND_ALL = '\u{10ffff}';
/** Ids that one statement looks at for their end: a few milliseconds. */
const LOOKED_AT = 20_000;

interface Statement {
  sql: SqlText;
  params: (string | number)[];
}

/** The newest jobs that pass a filter. */
export async function jobHeads(db: Queries, { kind, ...asked }: JobQuery): Promise<JobHead[]> {
  // No job has so many.
  if ((asked.tags?.length ?? 0) > LIMITS.tags) return [];
  const query = kind === undefined ? asked : { ...asked, types: await typesOfKind(db, kind) };
  if (query.types?.length === 0) return [];
  const lists = await Promise.all([
    ...queriesOf(query).map((one) => headsOf(db, one)),
    ...endsAsked(query).map((ends) => byEnd(db, ends, query)),
  ]);
  if (lists.length === 1) return lists[0] as JobHead[];
  // A job may be found in several ways.
  const found = new Map(lists.flat().map((head) => [head.seq, head]));
  return [...found.values()].sort((a, b) => b.seq - a.seq).slice(0, query.limit);
}

/** One for each of several types, whose jobs stand in an order for each by itself. */
export const queriesOf = ({ types, ...query }: Omit<JobQuery, 'kind'>): OneQuery[] =>
  types === undefined ? [query] : [...new Set(types)].map((type) => ({ ...query, type }));

/** All types that jobs have, each found behind the one before: they are few, however many jobs there are. */
export const TYPES_SQL = sql`WITH RECURSIVE known (type) AS (
    SELECT min(type) FROM jobs
    UNION ALL
    SELECT (SELECT jobs.type FROM jobs${indexedBy('jobs_type')} WHERE jobs.type > known.type ORDER BY jobs.type LIMIT 1)
      FROM known WHERE known.type IS NOT NULL
  ) SELECT type FROM known WHERE type IS NOT NULL`;

async function typesOfKind(db: Queries, kind: TypeEnding): Promise<string[]> {
  const types = await db.all<{ type: string }[]>(TYPES_SQL);
  return types.flatMap(({ type }) => (type.endsWith(`.${kind}`) ? [type] : []));
}

async function headsOf(db: Queries, query: OneQuery): Promise<JobHead[]> {
  const ways = query.ref === undefined ? [await chosenWay(db, waysOf(query))] : referred(query.ref);
  const lists = await Promise.all(
    ways.map((way) => {
      const heads = headStatement(way, query);
      return db.all<JobHead[]>(heads.sql, ...heads.params);
    }),
  );
  return lists.flat();
}

/** What is asked of the store along a way. */
export function headStatement(way: Way, query: OneQuery): Statement {
  const conditions = [...way.conditions, ...restOf(way, query)];
  const filter = joinSql(
    conditions.map((condition) => condition.sql),
    ' AND ',
  );
  return {
    sql: sql`SELECT jobs.seq, jobs.created_at, ${BYTES} AS bytes FROM ${joinSql(way.from, '')} WHERE ${filter} ORDER BY ${way.order} ${LIMIT}`,
    params: [...conditions.flatMap(({ values }) => values), query.limit],
  };
}

/** Each way along an index of its own that has its rows in order, so that none is longer than the answer. */
export function referred(ref: string): Way[] {
  const { begins, name } = readReference(ref);
  const ways: Way[] = [];
  if (begins !== undefined) {
    const values = [begins, begins + BEHIND_ALL];
    ways.push(jobsWay('jobs.id DESC', { sql: 'jobs.id >= ? AND jobs.id < ?', values }));
  }
  if (name !== undefined)
    ways.push(jobsWay('jobs.seq DESC', { sql: 'jobs.name_folded = ?', values: [name] }));
  return ways;
}

const jobsWay = (order: string, condition: Condition): Way => ({
  ...{ from: ['jobs'], order, seq: 'jobs.seq', conditions: [condition], covers: [] },
});

/** The end of an id that a reference may mean, if it may; a whole id is found by its beginning, and no id has other characters. */
function endsAsked({ ref }: JobQuery): string[] {
  if (ref === undefined) return [];
  const { begins, ends } = readReference(ref);
  return ends === undefined || /[^a-z0-9_]/.test(ends) || begins?.includes('_') ? [] : [ends];
}

/** The ids before one, the latest first, looked through for an end: which jobs have it, and how far that came. */
const ENDS_SQL = sql`SELECT min(id) AS reached, ${differing('json_group_array(seq) FILTER (WHERE substr(id, ?) = ?)', "coalesce(json_agg(seq) FILTER (WHERE right(id, -?::integer) = ?), '[]')")} AS seqs
  FROM (SELECT id, seq FROM jobs WHERE id < ? ORDER BY id DESC ${LIMIT}) AS looked`;

/**
 * The jobs whose id ends so. No index has the ends: they are random, so that it would cost every submission two pages
 * that are written, for what a person asks now and then. The ids stand together in their own index, and it is read in
 * pieces, between which others have their turn.
 */
async function byEnd(db: Queries, ends: string, query: Omit<JobQuery, 'kind'>): Promise<JobHead[]> {
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
    const picked = { sql: sql`jobs.seq ${amongNumbers()}`, values: [seqs] };
    for (const one of queriesOf(query)) {
      const heads = headStatement(jobsWay('jobs.seq DESC', picked), one);
      found.push(...(await db.all<JobHead[]>(heads.sql, ...heads.params)));
    }
  }
  return found;
}
