import type { Changes } from './changes.ts';
import type { SqlValue, Written } from './columns.ts';
import * as tables from './tables.ts';

/** How the rows of a list reach their table. */
export type Writing = 'insert' | 'update' | 'upsert' | 'delete';

interface List {
  table: Written<never>;
  writing: Writing;
}

const list = <Row>(table: Written<Row>, writing: Writing): List => ({
  table: table as unknown as Written<never>,
  writing,
});

/** The lists of rows that a turn may change, in the order in which they are written. */
export const LISTS = {
  requirements: list(tables.REQUIREMENTS, 'upsert'),
  plain_new_jobs: list(tables.JOBS.plain, 'insert'),
  plain_changed_jobs: list(tables.JOBS.plain, 'update'),
  new_jobs: list(tables.JOBS, 'insert'),
  changed_jobs: list(tables.JOBS, 'update'),
  job_requests: list(tables.JOB_REQUESTS, 'insert'),
  job_inputs: list(tables.JOB_INPUTS, 'insert'),
  variants: list(tables.JOB_VARIANTS, 'upsert'),
  choices: list(tables.CHOICES, 'upsert'),
  plain_new_tasks: list(tables.TASKS.plain, 'insert'),
  plain_changed_tasks: list(tables.TASKS.plain, 'update'),
  new_tasks: list(tables.TASKS, 'insert'),
  changed_tasks: list(tables.TASKS, 'update'),
  computed: list(tables.COMPUTED, 'upsert'),
  registered_workers: list(tables.WORKERS, 'upsert'),
  plain_changed_workers: list(tables.WORKER_STATES.plain, 'update'),
  changed_workers: list(tables.WORKER_STATES, 'update'),
  removed_workers: list(tables.WORKER_KEYS, 'delete'),
  pauses: list(tables.PAUSES, 'upsert'),
  lifted_pauses: list(tables.PAUSE_KEYS, 'delete'),
  artifacts: list(tables.ARTIFACTS, 'upsert'),
  task_artifacts: list(tables.TASK_ARTIFACTS, 'upsert'),
  events: list(tables.EVENTS, 'insert'),
  notifications: list(tables.NOTIFICATIONS, 'insert'),
  minutes: list(tables.MINUTES, 'upsert'),
  tally: list(tables.TALLY, 'upsert'),
} as const;

export type ListName = keyof typeof LISTS;
export const LIST_NAMES = Object.keys(LISTS) as ListName[];

/** The cells of a row that a list writes. */
export function cellsOf(name: ListName, row: never): SqlValue[] {
  const { table, writing } = LISTS[name];
  return writing === 'update' ? table.encodeChange(row) : table.encode(row);
}

/**
 * A view that takes a whole turn as one row, one JSON document a list: its trigger writes them all. So a turn is one
 * statement, which SQLite makes a transaction by itself, and one crossing to the thread that SQLite works on.
 */
class TurnView {
  readonly lists: readonly ListName[];
  /** The statement that it is written with; its parameters are the documents, in the order of the lists. */
  readonly sql: string;
  readonly #name: string;

  constructor(name: string, lists: readonly ListName[]) {
    this.#name = name;
    this.lists = lists;
    this.sql = `INSERT INTO ${name} (${lists.join(', ')}) VALUES (${lists.map(() => '?').join(', ')})`;
  }

  get definition(): string {
    const columns = this.lists.map((name) => `NULL AS ${name}`).join(', ');
    const writes = this.lists.flatMap((name) => [
      writeSql(name),
      ...indexNamesSql(name),
      ...indexTagsSql(name),
    ]);
    return `CREATE TEMP VIEW ${this.#name} AS SELECT ${columns};
      CREATE TEMP TRIGGER write_${this.#name} INSTEAD OF INSERT ON ${this.#name} BEGIN ${writes.join('; ')}; END`;
  }
}

/** For turns that hold nothing else, as most do: to look at a list costs, even where it is empty. */
const PLAIN_TURN = new TurnView('plain_turn', [
  'plain_new_jobs',
  'plain_changed_jobs',
  'job_requests',
  'plain_new_tasks',
  'plain_changed_tasks',
  'plain_changed_workers',
  'events',
  'minutes',
  'tally',
]);
const TURN = new TurnView('turn', LIST_NAMES);
const OTHERS = LIST_NAMES.filter((name) => !PLAIN_TURN.lists.includes(name));

export const TURN_VIEWS = [PLAIN_TURN.definition, TURN.definition].join(';\n');

/** What writes these changes. */
export const viewFor = (changes: Changes): Pick<TurnView, 'sql' | 'lists'> =>
  OTHERS.every((name) => changes[name].length === 0) ? PLAIN_TURN : TURN;

/** A specification by itself: very large, it is not to be made into JSON once more. */
export const REQUEST_SQL = 'INSERT INTO job_requests (job_id, request) VALUES (?, ?)';

/** The index of job names keeps no text of its own, so that it has to be told. */
function indexNamesSql(name: ListName): string[] {
  const { table, writing } = LISTS[name];
  if (table.name !== tables.JOBS.name || writing !== 'insert') return [];
  const [seq, folded] = ['seq', 'name_folded'].map((column) => `value ->> ${table.columns.indexOf(column)}`);
  return [
    `INSERT INTO job_names (rowid, name_folded) SELECT ${seq}, ${folded} FROM jsonb_each(NEW.${name}) WHERE ${folded} IS NOT NULL`,
  ];
}

/** A job is found by its tags without its row; they are rare, so that they come with whole rows. */
function indexTagsSql(name: ListName): string[] {
  if (name !== 'new_jobs') return [];
  const [seq, tags, owner, type] = ['seq', 'tags', 'owner', 'type'].map(
    (column) => `job.value ->> ${tables.JOBS.columns.indexOf(column)}`,
  );
  return [
    `INSERT INTO job_tags (tag, seq, owner, type) SELECT tag.value, ${seq}, ${owner}, ${type} FROM jsonb_each(NEW.new_jobs) AS job, json_each(${tags}) AS tag`,
  ];
}

function writeSql(name: ListName): string {
  const { table, writing } = LISTS[name];
  const rows = `jsonb_each(NEW.${name})`;
  if (writing === 'update') {
    const cells = [...table.key, ...table.changing].map((column, i) => `value ->> ${i} AS ${column}`);
    const set = table.changing.map((column) => `${column} = v.${column}`);
    const same = table.key.map((column) => `${table.name}.${column} = v.${column}`);
    return `UPDATE ${table.name} SET ${set.join(', ')} FROM (SELECT ${cells.join(', ')} FROM ${rows}) AS v WHERE ${same.join(' AND ')}`;
  }
  if (writing === 'delete') {
    const values = table.key.map((_, i) => `value ->> ${i}`);
    return `DELETE FROM ${table.name} WHERE (${table.key.join(', ')}) IN (SELECT ${values.join(', ')} FROM ${rows})`;
  }
  const cells = table.columns.map((_, i) => `value ->> ${i}`);
  const insert = `INSERT INTO ${table.name} (${table.columns.join(', ')}) SELECT ${cells.join(', ')} FROM ${rows}`;
  if (writing === 'insert') return insert;
  const onConflict = table.changing.length
    ? `DO UPDATE SET ${table.changing.map((column) => `${column} = excluded.${column}`).join(', ')}`
    : 'DO NOTHING';
  // "WHERE true" keeps the parser from reading ON CONFLICT as a join condition (SQLite, "UPSERT").
  return `${insert} WHERE true ON CONFLICT (${table.key.join(', ')}) ${onConflict}`;
}
