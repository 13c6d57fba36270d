import { HELD_STATUSES } from '../../../machines/schema/statuses.ts';
import { differing, type Sql } from './sql.ts';

/** Words of the program's own, as SQL compares a column with them: `IN (…)`. */
export const sqlWords = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ');

/**
 * SQL: how many rows at most, and behind how many, as parameters. SQLite plans a statement with a bare `LIMIT ?` anew
 * whenever it is run, since a plan might depend on the number; that takes longer than to find a few rows.
 */
export const LIMIT = differing('LIMIT ? + 0', 'LIMIT ?::bigint');
export const OFFSET = differing('OFFSET ? + 0', 'OFFSET ?::bigint');

/** SQL: joins a table by a condition. SQLite then reads it behind those that stand before it; PostgreSQL sees by itself. */
export const JOIN = differing('CROSS JOIN', 'JOIN');

/** SQL: that SQLite reads a table along an index, and along no other. */
export const indexedBy = (index: string): Sql => differing(` INDEXED BY ${index}`, '');

/** SQL: a column by which SQLite is not to look for rows. */
export const unindexed = (column: string): Sql => differing(`+${column}`, column);

/** SQL: the order of rows that SQLite finds in this order anyway, and would sort once more if it were told. */
export const inOrder = (order: string): Sql => differing('', ` ORDER BY ${order}`);

/** SQL: the smallest and the largest of several values; what is NULL among them is written as something else before. */
export const LEAST = differing('min', 'least');
export const GREATEST = differing('max', 'greatest');

/** What PostgreSQL has to be told of values that come as JSON or as parameters. */
export type SqlType = 'bigint' | 'double precision' | 'text';

const as = (value: string, type: SqlType): string => (type === 'text' ? value : `${value}::${type}`);

/** SQL: a parameter where nothing beside it says of which type it is. */
export const typed = (parameter: string, type: SqlType): Sql => differing(parameter, `${parameter}::${type}`);

/** SQL: a member of a JSON object or list, by its name or place; NULL where there is none. */
export function member(document: string, name: string | number, type: SqlType = 'text'): Sql {
  const key = typeof name === 'number' ? `${name}` : `'${name}'`;
  return differing(`${document} ->> ${key}`, as(`(jq_json(${document}) ->> ${key})`, type));
}

/** SQL: the same where an index has it, or nobody but the program has written the document. */
export function ownMember(document: string, name: string | number, type: SqlType = 'text'): Sql {
  const key = typeof name === 'number' ? `${name}` : `'${name}'`;
  return differing(`${document} ->> ${key}`, as(`(${document}::json ->> ${key})`, type));
}

/** SQL: the members of a JSON list as rows of a `key`, from 0, and a `value`. @param alias by which they are named */
export const each = (list: string, type: SqlType, alias = ''): Sql =>
  differing(
    `json_each(${list})${alias && ` ${alias}`}`,
    type === 'text'
      ? `jq_each(${list})${alias && ` ${alias}`}`
      : `(SELECT key, value::${type} AS value FROM jq_each(${list})) ${alias || 'listed'}`,
  );

/** SQL: the same of a JSON object of the program's own. */
export const eachMember = (object: string, type: SqlType, alias = ''): Sql =>
  differing(
    `json_each(${object})${alias && ` ${alias}`}`,
    `(SELECT key, ${as('value', type)} AS value FROM json_each_text(${object}::json)) ${alias || 'members'}`,
  );

/**
 * SQL: the members of a member of a worker's document, as rows of a `key` and a `value`. There are none where that is no
 * object, or nested more deeply than the store reads.
 * @param where the document counts
 */
export const membersIn = (document: string, name: string, where?: string): Sql =>
  differing(
    `json_each(CASE WHEN ${where === undefined ? '' : `${where} AND `}json_valid(${document}) THEN ${document} ELSE '{}' END, '$.${name}')`,
    `jq_members(${where === undefined ? document : `CASE WHEN ${where} THEN ${document} END`}, '${name}')`,
  );

/**
 * SQL: the tasks that are queued, held by a worker, or succeeded. PostgreSQL's indexes know these three by a column that
 * does not change when a task starts.
 */
export const QUEUED = differing("status = 'queued'", "phase = 'queued'");
export const HELD = differing(`status IN (${sqlWords(HELD_STATUSES)})`, "phase = 'held'");
export const SUCCEEDED = differing("status = 'succeeded'", "phase = 'succeeded'");

/** SQL: the jobs with one of these statuses, which PostgreSQL has in a table of their own (`job_places`). */
export const jobsThatAre = (statuses: readonly string[]): Sql => {
  const are = `status IN (${sqlWords(statuses)})`;
  return differing(`jobs.${are}`, `jobs.seq IN (SELECT seq FROM job_places WHERE ${are})`);
};

/** SQL: that a column has one of the values of a JSON list. */
const among = (list: string, type: SqlType): Sql =>
  differing(
    `IN (SELECT value FROM json_each(${list}))`,
    `= ANY (ARRAY(SELECT ${as('value', type)} FROM jq_each(${list})))`,
  );
export const amongTexts = (list = '?'): Sql => among(list, 'text');
export const amongNumbers = (list = '?'): Sql => among(list, 'bigint');

/**
 * SQL: whether an event stands for deleted ones. What a worker reports under that name has a task, and does not.
 * @param event the table, with a point
 */
export const isGap = (event = ''): string => `(${event}type = 'gap' AND ${event}task_id IS NULL)`;
