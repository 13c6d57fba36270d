import { differing, joinSql, type Queries, Sql, type SqlText, sql } from '../store/sql.ts';
import { each } from '../store/sql-words.ts';

/**
 * Expressions of SQL that make JSON text of columns, so that pages of lists are composed by the store, on its own thread,
 * and reach the socket as text. Values stay exact: results are copied as text, and doubles but for times have a text
 * already.
 */

/** An expression of text, or null. */
export const text = (value: SqlText): Sql => sql`${differing('json_quote', 'jq_quote')}(${value})`;

/** A column of whole numbers, or null. */
export const integer = (column: string): Sql =>
  differing(`coalesce(${column}, 'null')`, `coalesce(${column}::text, 'null')`);

/** A column of doubles, or null: SQLite writes fifteen digits unless it is told; twenty are read as the same number. */
export const double = (column: SqlText): Sql =>
  sql`CASE WHEN ${column} IS NULL THEN 'null' ELSE ${differing("printf('%!.20g', ", '(')}${column}${differing(')', ')::text')} END`;

/** A column of seconds, kept to the microsecond, or null. */
export const seconds = (column: string): Sql =>
  differing(
    `CASE WHEN ${column} IS NULL THEN 'null' ELSE rtrim(rtrim(printf('%.6f', ${column}), '0'), '.') END`,
    `coalesce(trim_scale(round(${column}::text::numeric, 6))::text, 'null')`,
  );

/** A column that holds JSON text, or null. */
export const json = (column: string): string => `coalesce(${column}, 'null')`;

/** An object of members whose values are such expressions; a name may be one, too, or a parameter that is JSON text. */
export function object(members: readonly (readonly [name: string | Sql, value: SqlText])[]): Sql {
  const parts = members.map(([name, value], i) => {
    const before = i === 0 ? '{' : ',';
    if (name instanceof Sql) return sql`'${before}' || ${name} || ':' || ${value}`;
    return sql`'${before}${JSON.stringify(name)}:' || ${value}`;
  });
  return sql`${joinSql(parts, ' || ')} || '}'`;
}

/** The rows of a page, given as a list of their numbers, or ids; the first parameter of the statement. */
export const pickedBy = (type: 'bigint' | 'text'): Sql =>
  sql`WITH picked (place, seq) AS MATERIALIZED (SELECT key, value FROM ${each('?', type)})`;
export const PICKED = pickedBy('bigint');

/** All rows' texts as the inside of an array or object, in the given order; the empty text when there are none. */
export const joined = (expression: SqlText, order: string): Sql =>
  sql`coalesce(string_agg(${expression}, ',' ORDER BY ${order}), '')`;

/**
 * Small rows, in one text: a driver makes an object of each row, cell by cell, which keeps the event loop longer than all the rest of a
 * page of them.
 * @param cells the object of a row @param from the rest of the statement, with its order
 */
export async function smallRows<Row>(
  db: Queries,
  cells: Sql,
  from: SqlText,
  params: readonly unknown[],
): Promise<Row[]> {
  const all = sql`SELECT coalesce(string_agg(cells, ','), '') AS list FROM (SELECT ${cells} AS cells ${from}) AS listed`;
  return JSON.parse(`[${(await db.get<{ list: string }>(all, ...params))?.list}]`) as Row[];
}
