import { sql } from '../store/sql.ts';
import { amongNumbers, each, isGap, member, typed } from '../store/sql-words.ts';
import type { Store } from '../store/store.ts';
import type { Turn } from '../turn/turn.ts';

/** An event that is to be deleted. */
export interface OldEvent {
  id: number;
  ts: number;
  /** The first of the events that it stands for, and how many these are: others than itself where it is a gap. */
  first: number;
  count: number;
  /** Numbers before it, or before those that it stands for, that were never given: where a restored server went on. */
  skipped: number;
}

/** What stands for deleted events. */
const GAP = { level: 'info', type: 'gap' } as const;

/** SQL: whether an event `e` stands for deleted ones. */
export const IS_GAP = isGap('e.');

/** SQL: an event `e` as an `OldEvent`. */
export const OLD_EVENT = sql`e.id, e.ts, CASE WHEN ${IS_GAP} THEN ${member('e.data', 'from', 'bigint')} ELSE e.id END AS first,
  CASE WHEN ${IS_GAP} THEN ${member('e.data', 'count', 'bigint')} ELSE 1 END AS count,
  CASE WHEN e.type IN ('gap', 'server_restored') AND e.task_id IS NULL
    THEN coalesce(${member('e.data', 'skipped', 'bigint')}, 0) ELSE 0 END AS skipped`;

/**
 * Deletes events, and has one row stand for them (docs/semantics.md#deletion): of each job that stays, and one for all
 * others. It has the place of the last of them, so that whoever reads on from before any of them comes upon it, and the
 * numbers of events that follow are never given again.
 * @param byJob events by the job whose row stands for them; under null those that belong to no job that stays
 */
export async function collapseEvents(
  turn: Turn,
  byJob: ReadonlyMap<string | null, readonly OldEvent[]>,
): Promise<void> {
  const gaps = [];
  const gone: number[] = [];
  for (const [job_id, events] of byJob) {
    const before = await gapOf(turn.core.store, job_id);
    const all = before ? [...events, before] : events;
    const last = all.reduce((a, b) => (b.id > a.id ? b : a));
    const from = Math.min(...all.map(({ first }) => first));
    const count = all.reduce((sum, event) => sum + event.count, 0);
    const skipped = all.reduce((sum, event) => sum + event.skipped, 0);
    for (const { id } of all) gone.push(id);
    const of = job_id === null ? '' : ' of this job';
    const message =
      count === 1
        ? `event ${from}${of} was deleted`
        : `${count} events${of} from ${from} to ${last.id} were deleted`;
    gaps.push([
      last.id,
      job_id,
      last.ts,
      message,
      { from, to: last.id, count, ...(skipped > 0 && { skipped }) },
    ]);
  }
  turn.further.push(
    {
      sql: sql`DELETE FROM events WHERE id ${amongNumbers()}`,
      params: [JSON.stringify(gone)],
    },
    {
      sql: sql`INSERT INTO events (id, job_id, ts, level, type, message, data)
        SELECT ${member('value', 0, 'bigint')}, ${member('value', 1)}, ${member('value', 2, 'double precision')},
          ${typed('?', 'text')}, ${typed('?', 'text')}, ${member('value', 3)}, ${member('value', 4)}
        FROM ${each('?', 'text')}`,
      params: [GAP.level, GAP.type, JSON.stringify(gaps)],
    },
  );
}

async function gapOf(store: Store, jobId: string | null): Promise<OldEvent | undefined> {
  const gap = sql`SELECT ${OLD_EVENT} FROM events e WHERE ${IS_GAP} AND e.job_id`;
  return jobId === null
    ? store.reader.get<OldEvent>(sql`${gap} IS NULL`)
    : store.reader.get<OldEvent>(sql`${gap} = ?`, jobId);
}
