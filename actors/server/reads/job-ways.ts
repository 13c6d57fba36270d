import type { JobQuery } from '../../../gateway/backend.ts';
import { differing, joinSql, type Queries, type SqlText, sql } from '../store/sql.ts';
import { indexedBy, JOIN, sqlWords, unindexed } from '../store/sql-words.ts';

/* Along which order of the store the jobs of a list are looked for. */

/** A query for jobs of one type, or of any. */
export type OneQuery = Omit<JobQuery, 'types' | 'kind'> & { type?: string };

export interface Condition {
  sql: SqlText;
  values: (string | number)[];
}

type Filter = Column | 'time';
type Column = 'owner' | 'type' | 'status' | 'resubmitted_from';

/** An order of the store that has some of the jobs, the newest first; the others are not even looked at. */
export interface Way {
  /** The table that has the order, and what else is joined to it. */
  from: readonly SqlText[];
  order: SqlText;
  /** The number of a job, as it is known before its row is read. */
  seq: SqlText;
  /** What the jobs along it have. */
  conditions: Condition[];
  /** Which filters that is. */
  covers: Filter[];
  /** The tag that they have. */
  tag?: string;
}

/** The index of names finds what has at least so many characters: it is made of groups of three. */
const SHORTEST_INDEXED = 3;
/** Statuses with an index for each owner and type. */
const ILL: readonly string[] = ['failed', 'cancelled'];
/** Jobs that are counted along a way, to find the shortest. */
const COUNTED = 10_000;
const [FIRST, LAST] = [0, Number.MAX_VALUE];

/** Every way that leads to all jobs that a query asks for, those with the fewest jobs first, as far as one can say. */
export function waysOf(query: OneQuery): Way[] {
  const { owner, type, status, tags, name, resubmitted_from } = query;
  const ways: Way[] = [];
  const along = (index: string, given: Partial<Record<Column, string>>) => {
    const { table, joined } = 'status' in given ? BY_STATUS : BY_ROW;
    const conditions: Condition[] = Object.entries(given).map(([column, value]) => ({
      sql: sql`${table}.${column} = ?`,
      values: [value],
    }));
    // A partial index is taken only where its own words stand in the statement.
    if (index.endsWith('_ill'))
      conditions.push({ sql: sql`${table}.status IN (${sqlWords(ILL)})`, values: [] });
    const covers: Filter[] = [...(Object.keys(given) as Filter[]), 'time'];
    ways.push({
      from: [sql`${table}${indexedBy(index)}`, joined],
      ...{ order: sql`${table}.created_at DESC`, seq: sql`${table}.seq` },
      conditions: [...conditions, created(query, table)],
      covers,
    });
  };
  if (resubmitted_from !== undefined) along('jobs_resubmitted', { resubmitted_from });
  if (status !== undefined && ILL.includes(status)) {
    if (owner !== undefined) along('jobs_owner_ill', { owner, status });
    if (type !== undefined) along('jobs_type_ill', { type, status });
  }
  for (const tag of tags ?? []) ways.push(...byTag(tag, query));
  if (owner !== undefined && type !== undefined) along('jobs_owner_type', { owner, type });
  else if (owner !== undefined) along('jobs_owner', { owner });
  else if (type !== undefined) along('jobs_type', { type });
  const pair = owner ?? type;
  if (status !== undefined && !(ILL.includes(status) && pair !== undefined))
    along('jobs_status_created', { status });
  if (name !== undefined && isIndexed(name)) ways.push(byName(name, query));
  if (ways.length === 0) along('jobs_created', {});
  return ways;
}

/** Where the orders are: those by a status, which changes, PostgreSQL has in a table of their own. */
const BY_ROW = { table: 'jobs', joined: '' };
const BY_STATUS = {
  table: differing('jobs', 'job_places'),
  joined: differing('', ' JOIN jobs ON jobs.seq = job_places.seq'),
};

const created = ({ created_from = FIRST, created_before = LAST }: OneQuery, table: SqlText): Condition => ({
  sql: sql`${table}.created_at >= ? AND ${table}.created_at < ?`,
  values: [created_from, created_before],
});

/** The same of a number: jobs are numbered in the order of their creation. */
const numbered = (seq: SqlText, { created_from = FIRST, created_before = LAST }: OneQuery): Condition => ({
  sql: sql`${seq} >= (SELECT first.seq FROM jobs first WHERE first.created_at >= ? ORDER BY first.created_at LIMIT 1)
    AND ${seq} <= (SELECT last.seq FROM jobs last WHERE last.created_at < ? ORDER BY last.created_at DESC LIMIT 1)`,
  values: [created_from, created_before],
});

/** Of an owner and a type, whichever has fewer jobs with the tag. */
function byTag(tag: string, query: OneQuery): Way[] {
  const { owner, type } = query;
  const along = (index: SqlText, given: Partial<Record<'owner' | 'type', string>>): Way => ({
    from: [sql`job_tags${index}`, sql` ${JOIN} jobs ON jobs.seq = job_tags.seq`],
    order: 'job_tags.seq DESC',
    seq: 'job_tags.seq',
    conditions: [
      { sql: 'job_tags.tag = ?', values: [tag] },
      ...Object.entries(given).map(([column, value]) => ({ sql: `job_tags.${column} = ?`, values: [value] })),
      numbered('job_tags.seq', query),
    ],
    covers: ['time', ...(Object.keys(given) as Filter[])],
    tag,
  });
  if (owner === undefined && type === undefined) return [along(differing(' NOT INDEXED', ''), {})];
  return [
    ...(owner === undefined ? [] : [along(indexedBy('job_tags_owner'), { owner })]),
    ...(type === undefined ? [] : [along(indexedBy('job_tags_type'), { type })]),
  ];
}

/** For the index, a text ends at its first NUL. */
const isIndexed = (name: string): boolean =>
  [...name.toLowerCase()].length >= SHORTEST_INDEXED && !name.includes('\0');

/**
 * SQLite finds parts of names in a table of its own, made of groups of three characters; PostgreSQL in an index of groups
 * of three, where it has the extension for that, by a pattern.
 */
const NAMES = {
  from: [differing('job_names', 'jobs'), differing(' CROSS JOIN jobs ON jobs.seq = job_names.rowid', '')],
  seq: differing('job_names.rowid', 'jobs.seq'),
  has: differing(
    `job_names MATCH '"' || replace(?, '"', '""') || '"'`,
    String.raw`jobs.name_folded LIKE '%' || regexp_replace(?, '([\\%_])', '\\\1', 'g') || '%'`,
  ),
};

const byName = (name: string, query: OneQuery): Way => ({
  ...{ from: NAMES.from, order: sql`${NAMES.seq} DESC`, seq: NAMES.seq },
  conditions: [{ sql: NAMES.has, values: [name.toLowerCase()] }, numbered(NAMES.seq, query)],
  covers: ['time'],
});

/**
 * The way with the fewest jobs, which are counted as far as that costs little. Where all have many, the first: there
 * what is asked for is found soon.
 */
export async function chosenWay(db: Queries, ways: readonly Way[]): Promise<Way> {
  if (ways.length === 1) return ways[0] as Way;
  const sizes = await Promise.all(
    ways.map(async (way) => {
      const count = countStatement(way);
      return (await db.get<{ size: number }>(count.sql, ...count.params))?.size ?? 0;
    }),
  );
  return ways[sizes.indexOf(Math.min(...sizes))] as Way;
}

export function countStatement({ from, conditions }: Way) {
  const [table = ''] = from;
  const filter = joinSql(
    conditions.map((condition) => condition.sql),
    ' AND ',
  );
  return {
    sql: sql`SELECT count(*) AS size FROM (SELECT 1 FROM ${table} WHERE ${filter} LIMIT ${COUNTED}) AS counted`,
    params: conditions.flatMap(({ values }) => values),
  };
}

/** What has to be looked at in each job along a way; SQLite does not follow it instead. */
export function restOf(way: Way, query: OneQuery): Condition[] {
  const { covers, seq } = way;
  const { owner, type, status, tags = [], name } = query;
  const folded = name?.toLowerCase() ?? '';
  const equal = (column: Column, value: string | undefined): Condition[] =>
    value === undefined || covers.includes(column)
      ? []
      : [{ sql: sql`${unindexed(`jobs.${column}`)} = ?`, values: [value] }];
  const asked = query.created_from !== undefined || query.created_before !== undefined;
  return [
    ...tags.filter((tag) => tag !== way.tag).map((tag) => taggedWith(tag, seq)),
    ...(folded === ''
      ? []
      : [{ sql: sql`${differing('instr', 'strpos')}(jobs.name_folded, ?) > 0`, values: [folded] }]),
    ...equal('owner', owner),
    ...equal('type', type),
    ...equal('status', status),
    ...equal('resubmitted_from', query.resubmitted_from),
    ...(covers.includes('time') || !asked ? [] : [later(query)]),
  ];
}

const later = ({ created_from = FIRST, created_before = LAST }: OneQuery): Condition => ({
  sql: sql`${unindexed('jobs.created_at')} >= ? AND ${unindexed('jobs.created_at')} < ?`,
  values: [created_from, created_before],
});

const taggedWith = (tag: string, seq: SqlText): Condition => ({
  sql: sql`EXISTS (SELECT 1 FROM job_tags t WHERE t.tag = ? AND t.seq = ${seq})`,
  values: [tag],
});
