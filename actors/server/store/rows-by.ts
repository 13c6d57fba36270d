import type { Table } from './columns.ts';
import { type Queries, type SqlText, sql } from './sql.ts';
import { amongNumbers, amongTexts } from './sql-words.ts';

/* What a store is asked for in the same words, whatever it is. */

/** The rows of a table for which a condition holds. */
export async function loadRows<Row>(
  queries: Queries,
  table: Table<Row>,
  where: SqlText,
  params: unknown[],
): Promise<Row[]> {
  const rows = await queries.all<{ cells: string }[]>(
    sql`SELECT ${table.rowSql()} AS cells FROM ${table.name} WHERE ${where}`,
    ...params,
  );
  return rows.map(({ cells }) => table.decode(cells));
}

/** The rows whose column has one of the values. */
export async function loadRowsBy<Row>(
  queries: Queries,
  table: Table<Row>,
  column: string,
  values: readonly (string | number)[],
): Promise<Row[]> {
  if (values.length === 0) return [];
  const among = typeof values[0] === 'number' ? amongNumbers() : amongTexts();
  return loadRows(queries, table, sql`${column} ${among}`, [JSON.stringify(values)]);
}

export async function hasArtifactOf(queries: Queries, sha256: string): Promise<boolean> {
  return (await queries.get('SELECT 1 AS found FROM artifacts WHERE sha256 = ?', sha256)) !== undefined;
}

export async function isUnnamed(queries: Queries, sha256: string): Promise<boolean> {
  return (await queries.get('SELECT 1 AS found FROM unnamed_objects WHERE sha256 = ?', sha256)) !== undefined;
}

export async function isEmpty(queries: Queries): Promise<boolean> {
  const sql = 'SELECT 1 AS found WHERE EXISTS (SELECT 1 FROM events) OR EXISTS (SELECT 1 FROM artifacts)';
  return (await queries.get(sql)) === undefined;
}
