import { randomBytes } from 'node:crypto';
import type { Piece } from '../../../gateway/backend.ts';
import { differing, joinSql, type Queries, type Sql, type SqlText, sql } from '../store/sql.ts';
import { LEAST } from '../store/sql-words.ts';

/**
 * Long values are no part of the page in which their row stands. The page holds a mark in their place, and they are
 * read from the store in parts when it is their turn; so neither a row of 16 MiB, which stores of earlier versions
 * may hold, nor ten thousand rows of 1 MiB are ever in memory. Marks are unguessable, and no client sees one.
 */
const PLACEHOLDER = randomBytes(12).toString('hex');
const PLACEHOLDERS = new RegExp(`"${PLACEHOLDER}:(\\w+):(\\w+)"`);

/** Bytes above which a value is left for later. */
export const LONG = 64 * 1024;
/** Bytes of such a value that are read at once. */
const PART = 256 * 1024;

/** The JSON text that stands for a value. */
export const placeholder = (what: string, key: string | number): string => `"${PLACEHOLDER}:${what}:${key}"`;

/** The same as a value that is written as JSON later. */
export const placeholderValue = (what: string, key: string | number): string =>
  `${PLACEHOLDER}:${what}:${key}`;

/** SQL: the JSON text of a column, or a mark where it is long. @param column whose length decides */
export const orPlaceholder = (column: string, jsonText: SqlText, what: string, key: string): Sql =>
  sql`CASE WHEN octet_length(${column}) > ${LONG} THEN '"${PLACEHOLDER}:${what}:' || ${key} || '"' ELSE ${jsonText} END`;

/** SQL: a column of text itself, or where it is long what becomes a mark when it is written as JSON. */
export const valueOrPlaceholder = (column: string, what: string, key: string): string =>
  `CASE WHEN octet_length(${column}) > ${LONG} THEN '${PLACEHOLDER}:${what}:' || ${key} ELSE ${column} END`;

/** SQL: bytes that columns take of a page. */
export const bytesOf = (fixed: number, ...columns: string[]): Sql =>
  joinSql(
    [`${fixed}`, ...columns.map((column) => sql`${LEAST}(coalesce(octet_length(${column}), 0), ${LONG})`)],
    ' + ',
  );

/** What brings a value in pieces, as JSON text, by what it is and whose. */
export type ValueReaders = Record<string, (key: string) => AsyncIterable<Piece>>;

/** A text whose marks are replaced by what they stand for. */
export async function* withLongValues(
  pieces: AsyncIterable<Piece>,
  fillers: ValueReaders,
): AsyncGenerator<Piece> {
  for await (const piece of pieces) {
    if (!piece.includes(PLACEHOLDER)) {
      yield piece;
      continue;
    }
    const parts = piece.toString().split(PLACEHOLDERS);
    for (let i = 0; i < parts.length; i += 3) {
      yield parts[i] as string;
      const [what, key] = [parts[i + 1], parts[i + 2]];
      if (what === undefined || key === undefined) continue;
      const filler = fillers[what];
      if (!filler) throw new Error(`nothing fills in ${what}`);
      yield* filler(key);
    }
  }
}

interface Cell {
  table: string;
  /** The column or expression that holds the value. */
  value: SqlText;
  /** What its row is found by. */
  key: string;
}

/** A value in pieces as it stands; nothing when there is no such row. */
export async function* partsOf(
  db: Queries,
  { table, value, key }: Cell,
  id: string | number,
): AsyncGenerator<string> {
  const cut = sql`SELECT substr(${differing('CAST(', '')}${value}${differing(' AS BLOB)', '')}, ?, ${PART}) AS part FROM ${table} WHERE ${key} = ?`;
  const decoder = new TextDecoder();
  for (let at = 1; ; at += PART) {
    // SQLite cuts bytes: it would count the characters of a text from its beginning for every part.
    const row = await db.get<{ part: Uint8Array | string | null }>(cut, at, id);
    const part = row?.part;
    if (!part || part.length === 0) break;
    yield typeof part === 'string' ? part : decoder.decode(part, { stream: true });
    if (typeof part !== 'string' && part.length < PART) break;
  }
  const rest = decoder.decode();
  if (rest !== '') yield rest;
}

/** The same as a JSON string. */
export async function* quoted(parts: AsyncIterable<string>): AsyncGenerator<string> {
  yield '"';
  for await (const part of parts) yield JSON.stringify(part).slice(1, -1);
  yield '"';
}
