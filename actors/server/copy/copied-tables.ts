import type { Statement } from '../store/changes.ts';
import type { SqlRow } from '../store/columns.ts';
import { differing, type Queries } from '../store/sql.ts';
import { NO_MARK } from '../store/unfinished.ts';

/** Rows that are read and written together, and those of tables whose rows may have megabytes. */
const PAGE = 100;
const PAGES: Readonly<Record<string, number>> = { job_requests: 4, job_variants: 4, tasks: 40, events: 40 };

/** A table with its columns, those that it is found by first. */
interface Copied {
  name: string;
  key: string[];
  columns: string[];
  page: number;
}

/** What both stores have, as either describes it; what is of one alone is left out. */
const COLUMNS = differing(
  `SELECT m.name AS relation, c.name AS member, c.pk AS place FROM sqlite_master m JOIN pragma_table_info(m.name) c
   WHERE m.type = 'table' AND m.name NOT GLOB 'sqlite_*' AND m.name NOT GLOB 'job_names*' AND m.name <> 'probe'
   ORDER BY m.name, c.pk, c.cid`,
  `SELECT c.table_name::text AS relation, c.column_name::text AS member, coalesce(array_position(
     (SELECT i.indkey::int[] FROM pg_index i WHERE i.indrelid = c.table_name::regclass AND i.indisprimary),
     c.ordinal_position::int), -1) + 1 AS place
   FROM information_schema.columns c
   WHERE c.table_schema = current_schema() AND c.is_generated = 'NEVER'
     AND c.table_name NOT IN ('reign', 'past_reigns', 'leader', 'servers', 'store_id', 'schema_version', 'job_places')
   ORDER BY c.table_name COLLATE "C", 3, c.ordinal_position`,
);

/** All tables of a store. One that is found by nothing has few rows, and is found by all of its columns. */
export async function tablesOf(queries: Queries): Promise<Copied[]> {
  const tables = new Map<string, Copied>();
  type Member = { relation: string; member: string; place: number };
  for (const { relation, member, place } of await queries.all<Member[]>(COLUMNS)) {
    const page = PAGES[relation] ?? PAGE;
    const table = tables.get(relation) ?? { name: relation, key: [], columns: [], page };
    tables.set(relation, table);
    table.columns.push(member);
    if (place > 0) table.key.push(member);
  }
  for (const table of tables.values()) if (table.key.length === 0) table.key = [...table.columns];
  return [...tables.values()];
}

const whereOf = ({ name }: Copied): string => (name === 'numbers' ? NO_MARK : '1 = 1');

export async function countOf(queries: Queries, table: Copied): Promise<number> {
  const sql = `SELECT count(*) AS n FROM ${table.name} WHERE ${whereOf(table)}`;
  return (await queries.get<{ n: number }>(sql))?.n ?? 0;
}

/** The rows of a table in the order of its key, some at a time. */
export async function* pagesOf(queries: Queries, table: Copied): AsyncGenerator<SqlRow[]> {
  const { name, key, columns, page } = table;
  const select = `SELECT ${columns.join(', ')} FROM ${name} WHERE ${whereOf(table)}`;
  const order = `ORDER BY ${key.join(', ')} LIMIT ${page}`;
  const behind = `(${key.join(', ')}) > (${key.map(() => '?').join(', ')})`;
  let rows = await queries.all<SqlRow[]>(`${select} ${order}`);
  while (rows.length > 0) {
    yield rows;
    const last = rows.at(-1) as SqlRow;
    const values = key.map((column) => last[column]);
    rows =
      rows.length < page ? [] : await queries.all<SqlRow[]>(`${select} AND ${behind} ${order}`, ...values);
  }
}

/** Those of some rows that another store has not, or has with other values. */
export async function differingIn(queries: Queries, table: Copied, rows: SqlRow[]): Promise<SqlRow[]> {
  const { name, key, columns } = table;
  const one = `(${key.map((column) => `${column} = ?`).join(' AND ')})`;
  const found = await queries.all<SqlRow[]>(
    `SELECT ${columns.join(', ')} FROM ${name} WHERE ${rows.map(() => one).join(' OR ')}`,
    ...rows.flatMap((row) => key.map((column) => row[column])),
  );
  const text = (row: SqlRow) => JSON.stringify(columns.map((column) => row[column]));
  const known = new Set(found.map(text));
  return rows.filter((row) => !known.has(text(row)));
}

/** What writes rows, in the place of those that are found by the same. */
export function writeOf({ name, key, columns }: Copied, rows: readonly SqlRow[]): Statement {
  const one = `(${columns.map(() => '?').join(', ')})`;
  const set = columns
    .filter((column) => !key.includes(column))
    .map((column) => `${column} = excluded.${column}`);
  const onConflict =
    key.length === columns.length
      ? 'ON CONFLICT DO NOTHING'
      : `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${set.join(', ')}`;
  return {
    sql: `INSERT INTO ${name} (${columns.join(', ')}) VALUES ${rows.map(() => one).join(', ')} ${onConflict}`,
    params: rows.flatMap((row) => columns.map((column) => row[column] ?? null)),
  };
}
