import { differing, sql } from '../store/sql.ts';
import { each, JOIN } from '../store/sql-words.ts';
import { HAS_ENDED, usersOf } from './delete-jobs.ts';
import type { What, Work } from './work.ts';

/** Jobs that are looked at together, and tasks of those that are dealt with together. */
const PAGE = 500;
const GROUP = { jobs: 50, tasks: 100 };

/** SQL: when a job that has ended did, as the index has it, and where that is. */
const ENDED_AT = differing('updated_at', 'ended_at');
const ENDED_JOBS = differing(
  `jobs j INDEXED BY jobs_ended WHERE ${HAS_ENDED}`,
  'job_places p JOIN jobs j USING (seq) WHERE p.ended_at IS NOT NULL',
);

interface Looked {
  seq: number;
  id: string;
  updated_at: number;
  num_tasks: number;
  due: number;
}

/**
 * Jobs that ended before a moment and have no time of their own, the first first, a few at a time: those of which what
 * is asked for has not gone yet. Each page of the index is looked at once; what stayed is seen again when the places
 * are forgotten.
 */
export async function* dueJobs(
  { store, places }: Work,
  what: What,
  before: number,
): AsyncGenerator<string[], void, void> {
  for (let full = true; full; ) {
    const from = places.get(what) ?? { updated_at: 0, seq: 0 };
    const page = await store.queries.all<Looked[]>(
      sql`SELECT seq, id, updated_at, num_tasks, keep IS NULL AND NOT EXISTS (
         SELECT 1 FROM shed s WHERE s.job_id = j.id AND s.what = ? AND s.at >= j.updated_at) AS due
       FROM ${ENDED_JOBS} AND (${ENDED_AT}, seq) > (?, ?) AND ${ENDED_AT} < ?
       ORDER BY ${ENDED_AT}, seq LIMIT ${PAGE}`,
      ...[what, from.updated_at, from.seq, before],
    );
    full = page.length === PAGE;
    yield* inGroups(page.filter(({ due }) => due === 1));
    const last = page.at(-1);
    if (last) places.set(what, { updated_at: last.updated_at, seq: last.seq });
    // A page in which nothing was due has taken its time, too.
    if (full) yield [];
  }
}

function* inGroups(jobs: readonly Looked[]): Generator<string[], void, void> {
  let group: string[] = [];
  let tasks = 0;
  for (const { id, num_tasks } of jobs) {
    if (group.length === GROUP.jobs || (group.length > 0 && tasks + num_tasks > GROUP.tasks)) {
      yield group;
      group = [];
      tasks = 0;
    }
    group.push(id);
    tasks += num_tasks;
  }
  if (group.length > 0) yield group;
}

/**
 * Of jobs that were found, those that are due still, in order: nobody has pinned one of them meanwhile, or queued it
 * again. One whose results others have stays as long as these are not due themselves; where all of it is to go, as long
 * as they are there.
 */
export async function stillDue(
  { store }: Pick<Work, 'store'>,
  jobs: readonly string[],
  before: number,
  { withUsers }: { withUsers: 'gone' | 'due' },
): Promise<string[]> {
  const due = (job: string, of: string) =>
    `${HAS_ENDED.replaceAll('j.', `${job}.`)} AND ${job}.keep IS NULL AND ${job}.updated_at < ${of}`;
  const keeping = withUsers === 'gone' ? '' : ` AND NOT (${due('o', '?2')})`;
  const rows = await store.reader.all<{ id: string }[]>(
    sql`SELECT j.id FROM ${each('?1', 'text', 'k')} ${JOIN} jobs j ON j.id = k.value
     WHERE ${due('j', '?2')} AND NOT EXISTS (${usersOf('j.id')}${keeping}) ORDER BY j.id`,
    ...[JSON.stringify(jobs), before],
  );
  return rows.map(({ id }) => id);
}
