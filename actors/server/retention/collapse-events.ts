import { isGap } from '../store/sql-words.ts';
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
export const OLD_EVENT = `e.id, e.ts, iif(${IS_GAP}, e.data ->> 'from', e.id) AS first,
  iif(${IS_GAP}, e.data ->> 'count', 1) AS count,
  iif(e.type IN ('gap', 'server_restored') AND e.task_id IS NULL, ifnull(e.data ->> 'skipped', 0), 0) AS skipped`;

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
      sql: 'DELETE FROM events WHERE id IN (SELECT value FROM json_each(?))',
      params: [JSON.stringify(gone)],
    },
    {
      sql: `INSERT INTO events (id, job_id, ts, level, type, message, data)
        SELECT value ->> 0, value ->> 1, value ->> 2, ?, ?, value ->> 3, value -> 4 FROM json_each(?)`,
      params: [GAP.level, GAP.type, JSON.stringify(gaps)],
    },
  );
}

async function gapOf(store: Store, jobId: string | null): Promise<OldEvent | undefined> {
  return store.reader.get<OldEvent>(
    `SELECT ${OLD_EVENT} FROM events e WHERE e.job_id IS ? AND ${IS_GAP}`,
    jobId,
  );
}
