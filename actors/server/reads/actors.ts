import type { ActorState } from '../../../gateway/backend.ts';
import type { MachineName } from '../../../machines/charts/names.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { JOB, type RowMapping, TASK, WORKER } from '../runtime/row-mapping.ts';
import type { Table } from '../store/columns.ts';
import { type Queries, sql } from '../store/sql.ts';
import { JOBS, TASKS, WORKERS } from '../store/tables.ts';

/** Characters of a text that are read: results and errors may be long, and people read this. */
const LONGEST_TEXT = 2000;
/** Texts of any length; those that are no JSON of their own. */
const LONG: readonly string[] = ['error', 'result', 'suspended'];

const KINDS = {
  job: { table: JOBS, mapping: JOB },
  task: { table: TASKS, mapping: TASK },
  worker: { table: WORKERS, mapping: WORKER },
} as unknown as Readonly<Record<string, { table: Table<object>; mapping: RowMapping<object, never> }>>;

/** A job, task or worker as its machine sees it: what is committed, restored as for its next event. */
export async function actorState(db: Queries, machine: MachineName, id: string): Promise<ActorState> {
  const kind = Object.hasOwn(KINDS, machine) ? KINDS[machine] : undefined;
  if (!kind) throw ClusterError.unknown('actor', id);
  const { table, mapping } = kind;
  const cells = table.rowSql((column) => {
    const cell = `${table.name}.${column}`;
    return LONG.includes(column) ? cut(cell) : cell;
  });
  const row = await db.get<{ cells: string }>(
    sql`SELECT ${cells} AS cells FROM ${table.name} WHERE id = ?`,
    id,
  );
  if (!row) throw ClusterError.unknown(machine, id);
  const { value, context } = mapping.restore(table.decode(row.cells)) as unknown as ActorState;
  return { value, context };
}

const cut = (cell: string): string =>
  `CASE WHEN length(${cell}) > ${LONGEST_TEXT} THEN substr(${cell}, 1, ${LONGEST_TEXT}) || '… (' || (length(${cell}) - ${LONGEST_TEXT}) || ' more characters)' ELSE ${cell} END`;
