/**
 * Expressions of SQL that make JSON text of columns, so that pages of lists are composed by SQLite, on its own thread,
 * and reach the socket as text. Values stay exact: results are copied as text, and doubles but for times have a text
 * already.
 */

/** A column of text, or null. */
export const text = (column: string): string => `json_quote(${column})`;

/** A column of whole numbers, or null. */
export const integer = (column: string): string => `coalesce(${column}, 'null')`;

/** A column of seconds, kept to the microsecond, or null. */
export const seconds = (column: string): string =>
  `iif(${column} IS NULL, 'null', rtrim(rtrim(printf('%.6f', ${column}), '0'), '.'))`;

/** A column that holds JSON text, or null. */
export const json = (column: string): string => `coalesce(${column}, 'null')`;

/** Stands for a member's name that is a parameter of the query, as JSON text. */
export const PARAMETER = Symbol('parameter');

/** An object of members whose values are such expressions. */
export function object(
  members: readonly (readonly [name: string | typeof PARAMETER, value: string])[],
): string {
  const parts = members.map(([name, value], i) => {
    const before = i === 0 ? '{' : ',';
    if (name === PARAMETER) return `'${before}' || ? || ':' || ${value}`;
    return `'${before}${JSON.stringify(name)}:' || ${value}`;
  });
  return `${parts.join(' || ')} || '}'`;
}

/** The rows of a page, given as a list of their numbers; the first parameter of the statement. */
export const PICKED = 'WITH picked (place, seq) AS MATERIALIZED (SELECT key, value FROM json_each(?))';

/** All rows' texts as the inside of an array or object, in the given order; the empty text when there are none. */
export const joined = (expression: string, order: string): string =>
  `coalesce(group_concat(${expression}, ',' ORDER BY ${order}), '')`;
