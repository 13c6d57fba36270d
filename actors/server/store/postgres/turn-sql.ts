import type { Changes } from '../changes.ts';
import type { Written } from '../columns.ts';
import { JOBS } from '../tables.ts';
import { cellsOf, LIST_NAMES, LISTS, type ListName } from '../turn-sql.ts';
import { type JobWriting, placesOf, WRITTEN_JOBS } from './job-places.ts';
import { type Named, named } from './placeholders.ts';
import { documentOf } from './texts.ts';

const TYPES = { TEXT: 'text', INTEGER: 'bigint', REAL: 'double precision' } as const;

/** The parameters before the documents: the epoch, and the number of the turn. */
const FIRST = 3;

/** What a statement is a part of: a turn by itself, or one that takes several, whose first one looked at the epoch. */
export type Part = 'whole' | 'part';

/** Notes the turn, if the epoch is the present one; a turn that waits for another one looks at the epoch again. */
const NOTE = 'UPDATE reign SET turn = $2::bigint WHERE id = 1 AND epoch = $1::bigint RETURNING 1 AS one';

/** The same as a statement of its own. */
export const NOTE_TURN: Named = named(NOTE);

/**
 * One statement for all lists of a turn that have rows, which takes each as a document; nothing is written where the
 * epoch is not the present one. It brings a row with the number of epochs that it found: one, or none.
 */
export function turnStatement(changes: Changes, part: Part): { statement: Named; documents: string[] } {
  const lists = LIST_NAMES.filter((name) => changes[name].length > 0);
  return {
    statement: statementFor(lists, part),
    documents: lists.map((name) => documentOf(rowsOf(changes, name))),
  };
}

const made = new Map<string, Named>();

function statementFor(lists: readonly ListName[], part: Part): Named {
  const key = `${part} ${lists.join(' ')}`;
  let statement = made.get(key);
  if (statement === undefined) {
    // The types of parameters that a part does not use have to be said all the same.
    const reign =
      part === 'whole' ? NOTE : 'SELECT 1 AS one WHERE $1::bigint IS NOT NULL AND $2::bigint IS NOT NULL';
    const writes = lists.flatMap((name, i) => {
      const rows = `reign, jsonb_array_elements($${i + FIRST}::jsonb) AS v`;
      return [`w${i} AS (${writeSql(name, rows)})`, ...placesSql(name, `w${i}`), ...tagsSql(name, rows)];
    });
    statement = named(
      `WITH ${[`reign AS (${reign})`, ...writes].join(', ')} SELECT count(*) AS epochs FROM reign`,
    );
    made.set(key, statement);
  }
  return statement;
}

/** A row that is written twice is one that the later replaces; PostgreSQL leaves that to who asks. */
function rowsOf(changes: Changes, name: ListName): (string | number | null)[][] {
  const { table, writing } = LISTS[name];
  const rows = changes[name].map((row) => cellsOf(name, row as never));
  if (writing !== 'upsert' || rows.length === 1) return rows;
  const places = table.key.map((column) => table.columns.indexOf(column));
  const byKey = new Map(rows.map((cells) => [JSON.stringify(places.map((place) => cells[place])), cells]));
  return [...byKey.values()];
}

const cell = (table: Written<never>, column: string, place: number): string => {
  const type = TYPES[(table.types[column] as { type: keyof typeof TYPES }).type];
  return type === 'text' ? `v ->> ${place}` : `(v ->> ${place})::${type}`;
};

function writeSql(name: ListName, rows: string): string {
  const { table, writing } = LISTS[name];
  const { key, changing, columns } = table;
  const told = writesJobs(name) ? ` ${WRITTEN_JOBS[writing as JobWriting]}` : '';
  const is = (column: string, place: number) => `${table.name}.${column} = ${cell(table, column, place)}`;
  if (writing === 'update') {
    const set = changing.map((column, i) => `${column} = ${cell(table, column, key.length + i)}`);
    return `UPDATE ${table.name} SET ${set.join(', ')} FROM ${rows} WHERE ${key.map(is).join(' AND ')}${told}`;
  }
  if (writing === 'delete')
    return `DELETE FROM ${table.name} USING ${rows} WHERE ${key.map(is).join(' AND ')}`;
  const cells = columns.map((column, place) => cell(table, column, place));
  const insert = `INSERT INTO ${table.name} (${columns.join(', ')}) SELECT ${cells.join(', ')} FROM ${rows}`;
  if (writing === 'insert') return insert + told;
  const onConflict = changing.length
    ? `DO UPDATE SET ${changing.map((column) => `${column} = excluded.${column}`).join(', ')}`
    : 'DO NOTHING';
  return `${insert} ON CONFLICT (${key.join(', ')}) ${onConflict}`;
}

const writesJobs = (name: ListName): boolean => LISTS[name].table.name === JOBS.name;

/** Jobs that are written have their places written, too. */
const placesSql = (name: ListName, part: string): string[] =>
  writesJobs(name) ? [`${part}_places AS (${placesOf(part, LISTS[name].writing as JobWriting)})`] : [];

/** A job is found by its tags without its row; they are rare, so that they come with whole rows. */
function tagsSql(name: ListName, rows: string): string[] {
  if (name !== 'new_jobs') return [];
  const place = (column: string) => JOBS.columns.indexOf(column);
  return [
    `tags AS (INSERT INTO job_tags (tag, seq, owner, type)
      SELECT tag.value, (v ->> ${place('seq')})::bigint, v ->> ${place('owner')}, v ->> ${place('type')}
      FROM ${rows}, jq_each(v ->> ${place('tags')}) AS tag)`,
  ];
}
