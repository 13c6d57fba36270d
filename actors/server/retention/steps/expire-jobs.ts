import type { JobRow } from '../../store/rows.ts';
import { differing, sql } from '../../store/sql.ts';
import { amongTexts, each, JOIN } from '../../store/sql-words.ts';
import type { Turn } from '../../turn/turn.ts';
import { type Deleted, deleteJobs, HAS_ENDED, usersOf, type Why } from '../delete-jobs.ts';
import { dueJobs, stillDue } from '../due-jobs.ts';
import type { Step, Work } from '../work.ts';

/** Jobs of a slice. */
const AT_ONCE = 50;

/** Jobs go that ended long enough ago. */
export const expireJobs: Step = async function* (work) {
  const { settings, time, alone, progress } = work;
  if (settings.keepJobs === 0) return;
  const before = time.believed - settings.keepJobs;
  // Those that stayed for another's sake are looked at each time: when that one is gone, they go.
  work.places.delete('jobs');
  for await (const group of dueJobs(work, 'jobs', before)) {
    if (group.length > 0)
      await alone(async (turn) => {
        const due = await stillDue(work, group, before, { withUsers: 'gone' });
        await deleteThese(turn, due, { flag: '--keep-jobs' }, progress);
      });
    yield;
  }
};

/** SQL: that a job has ended and its own time is over. */
const IS_DUE = `j.keep_seconds IS NOT NULL AND ${HAS_ENDED} AND j.updated_at + j.keep_seconds < ?`;
/** SQL: until when a job that has ended is kept by its own wish, as the index has it; and those whose time is over. */
const ENDS = differing('j.updated_at + j.keep_seconds', 'p.kept_until');
const DUE_JOBS = differing(
  `jobs j INDEXED BY jobs_keep WHERE ${IS_DUE}`,
  'job_places p JOIN jobs j ON j.seq = p.seq WHERE p.kept_until < ?',
);

/** Jobs go whose own time is over, which their owners wished. */
export const expireByWish: Step = async function* ({ store, time, alone, progress }) {
  const before = time.believed;
  for (let from = 0, full = true; full; ) {
    const page = await store.queries.all<{ id: string; ends: number }[]>(
      sql`SELECT j.id, ${ENDS} AS ends FROM ${DUE_JOBS} AND ${ENDS} > ? ORDER BY ${ENDS} LIMIT ${AT_ONCE}`,
      ...[before, from],
    );
    full = page.length === AT_ONCE;
    from = page.at(-1)?.ends ?? from;
    if (page.length === 0) return;
    const ids = JSON.stringify(page.map(({ id }) => id));
    await alone(async (turn) => {
      const rows = await store.reader.all<{ id: string }[]>(
        sql`SELECT j.id FROM ${each('?', 'text', 'k')} ${JOIN} jobs j ON j.id = k.value
         WHERE ${IS_DUE} AND NOT EXISTS (${usersOf('j.id')})`,
        ...[ids, before],
      );
      const found = rows.map(({ id }) => id);
      await deleteThese(turn, found, { flag: 'keep' }, progress);
    });
    yield;
  }
};

/** Deletes jobs that are found to be due in this turn. */
export async function deleteThese(
  turn: Turn,
  ids: readonly string[],
  why: Why,
  progress: Work['progress'],
): Promise<void> {
  if (ids.length === 0) return;
  const columns: (keyof JobRow)[] = ['id', 'seq', 'name', 'status', 'num_tasks'];
  const jobs = await turn.core.store.reader.all<Deleted[]>(
    sql`SELECT ${columns.join(', ')} FROM jobs WHERE id ${amongTexts()} ORDER BY seq`,
    JSON.stringify(ids),
  );
  deleteJobs(turn, jobs, why);
  turn.afterCommit(() => progress.deleted({ jobs: jobs.length }));
}
