import { differing, joinSql, Sql, type SqlText, sql } from '../store/sql.ts';
import { each } from '../store/sql-words.ts';

/**
 * Expressions of SQL that make JSON text of columns, so that pages of lists are composed by the store, on its own thread,
 * and reach the socket as text. Values stay exact: results are copied as text, and doubles but for times have a text
 * already.
 */

/** An expression of text, or null. */
export const text = (value: SqlText): Sql => sql`${differing('json_quote', 'jq_quote')}(${value})`;

/** A column of words or ids of the program's own, in which nothing is escaped, or null. */
export const word = (column: string): string => `coalesce('"' || ${column} || '"', 'null')`;

/**
 * Stands around what is put in later: what only memory knows, or the digits of a double that JavaScript has to write. JSON has no
 * such character as it is.
 */
export const BLANK = '\u0001';

/** Stands in a list for a member that is read later, by itself. */
export const LATER = '\u0002';

/** SQL: what is put in later. */
export const blank = (asked: SqlText): Sql => sql`'${BLANK}' || ${asked} || '${BLANK}'`;

const MICRO = (column: SqlText) => sql`CAST(${column} * 1000000.0 + 0.5 AS INTEGER)`;
/**
 * A column of doubles, or null, each written as JavaScript writes it: with as few digits as are read as the same number.
 * SQLite writes some as their neighbours; it is sure of one that is so many millionths, since their division is exact. Of
 * the others it gives digits enough, as a blank.
 */
export const shortest = (column: SqlText): Sql =>
  sql`CASE WHEN ${column} IS NULL THEN 'null' ${differing('', 'WHEN ')}${new Sql((dialect) =>
    dialect === 'sqlite'
      ? sql`WHEN ${column} BETWEEN 0 AND 9e9 AND ${MICRO(column)} / 1000000.0 = ${column}
          THEN rtrim(rtrim(concat(${MICRO(column)} / 1000000, '.', substr(1000000 + ${MICRO(column)} % 1000000, 2)), '0'), '.')`
          .sqlite
      : sql`${column} = 0 THEN '0' WHEN abs(${column}) >= 0.0001 AND abs(${column}) < 1e15 THEN (${column})::text`
          .postgresql,
  )} ELSE ${blank(double(column))} END`;

/** A part of an object that stands in it as it is. */
class Literal {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}
/** A value that is always the same, JSON text. */
export const always = (jsonText: string): Literal[] => [new Literal(jsonText)];
/** The same as a word that is never null. */
export const ownWord = (column: string): (Literal | string)[] => [new Literal('"'), column, new Literal('"')];

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

/**
 * An object of members whose values are such expressions; a name may be one, too, or a parameter that is JSON text. All
 * parts are joined at once: to join them one by one takes a good part of what a row of a list takes.
 */
export function object(
  members: readonly (readonly [name: string | Sql, value: SqlText | readonly (Literal | string)[]])[],
): Sql {
  const parts = members.flatMap(([name, value], i) => [
    new Literal(i === 0 ? '{' : ','),
    ...(name instanceof Sql ? [name, new Literal(':')] : [new Literal(`${JSON.stringify(name)}:`)]),
    ...(Array.isArray(value) ? (value as readonly (Literal | string)[]) : [value as SqlText]),
  ]);
  const joined: SqlText[] = [];
  let literal = '';
  for (const part of [...parts, new Literal('}')]) {
    if (part instanceof Literal) {
      literal += part.text;
      continue;
    }
    joined.push(`'${literal}'`, part);
    literal = '';
  }
  return sql`concat(${joinSql([...joined, `'${literal}'`], ', ')})`;
}

/** The rows of a page, given as a list of their numbers, or ids; the first parameter of the statement. */
export const pickedBy = (type: 'bigint' | 'text'): Sql =>
  sql`WITH picked (place, seq) AS MATERIALIZED (SELECT key, value FROM ${each('?', type)})`;
export const PICKED = pickedBy('bigint');
