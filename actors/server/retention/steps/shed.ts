import { sql } from '../../store/sql.ts';
import { amongTexts, each, inOrder, JOIN, typed } from '../../store/sql-words.ts';
import type { Turn } from '../../turn/turn.ts';
import { collapseEvents, IS_GAP, OLD_EVENT, type OldEvent } from '../collapse-events.ts';
import { dueJobs, stillDue } from '../due-jobs.ts';
import type { Step, What, Work } from '../work.ts';
import { UNNAMED, unnamedObjects } from './clear-deletions.ts';

/** Rows that a slice looks at. */
const EVENTS = 500;
const TASKS = 100;

/** Types of the events that are what a task logged. */
const LOGS = "('log', 'progress')";

/** Where a walk through the rows of several jobs is: behind this row of this job. */
interface Place {
  job: string;
  row: number;
}
const BEGIN: Place = { job: '', row: 0 };

/** What jobs logged goes first of all. */
export const shedLogs: Step = (work) =>
  shed(work, 'logs', work.settings.keepLogs, [
    (turn, jobs, from) => shedEvents(turn, jobs, from, `e.type IN ${LOGS}`),
    (turn, jobs, from) => shedArtifacts(turn, jobs, from, "AND u.role = 'logs'"),
  ]);

export const shedJobArtifacts: Step = (work) =>
  shed(work, 'artifacts', work.settings.keepArtifacts, [
    (turn, jobs, from) => shedArtifacts(turn, jobs, from, ''),
  ]);

export const shedJobEvents: Step = (work) =>
  shed(work, 'events', work.settings.keepEvents, [
    (turn, jobs, from) => shedEvents(turn, jobs, from, `NOT ${IS_GAP}`),
  ]);

/** Deletes a slice of what goes, and tells how much, and where it goes on; null: it was the last. */
type Slice = (
  turn: Turn,
  jobs: readonly string[],
  from: Place,
) => Promise<{ next: Place | null; events?: number; artifacts?: number }>;

/** What a job has beside itself goes when it ended so many seconds ago. */
async function* shed(
  work: Work,
  what: What,
  keep: number,
  slices: readonly Slice[],
): AsyncGenerator<void, void, void> {
  if (keep === 0) return;
  const before = work.time.believed - keep;
  for await (const group of dueJobs(work, what, before)) {
    for (const slice of slices) {
      for (let next: Place | null = BEGIN; next !== null && group.length > 0; ) {
        const from: Place = next;
        await work.alone(async (turn) => {
          const jobs = await stillDue(work, group, before, { withUsers: 'due' });
          if (jobs.length === 0) {
            next = null;
            return;
          }
          const done = await slice(turn, jobs, from);
          next = done.next;
          if (next === null && slice === slices.at(-1)) turn.further.push(hasShed(what, jobs, turn.now));
          turn.afterCommit(() =>
            work.progress.deleted({ events: done.events ?? 0, artifacts: done.artifacts ?? 0 }),
          );
        });
        yield;
      }
    }
    if (group.length === 0) yield;
  }
}

const hasShed = (what: What, jobs: readonly string[], now: number) => ({
  sql: sql`INSERT INTO shed (job_id, what, at)
    SELECT value, ${typed('?', 'text')}, ${typed('?', 'double precision')} FROM ${each('?', 'text')} WHERE true
    ON CONFLICT (job_id, what) DO UPDATE SET at = excluded.at`,
  params: [what, now, JSON.stringify(jobs)],
});

/**
 * SQL: the rows of jobs from a place on. `k` are the jobs, in order; so the rows come in order too, each along its index,
 * and nothing is sorted.
 */
const FROM = sql`FROM ${each('?1', 'text', 'k')} ${JOIN}`;
const BEHIND = (row: string) =>
  sql`${row} > CASE WHEN k.value = ?2 THEN ${typed('?3', 'bigint')} ELSE 0 END AND k.value >= ?2${inOrder(`k.key, ${row}`)}`;

async function shedEvents(
  turn: Turn,
  jobs: readonly string[],
  from: Place,
  which: string,
): ReturnType<Slice> {
  const rows = await turn.core.store.reader.all<(OldEvent & { job: string; goes: number })[]>(
    sql`SELECT e.job_id AS job, ${OLD_EVENT}, ${which} AS goes
     ${FROM} events e ON e.job_id = k.value AND ${BEHIND('e.id')} LIMIT ${EVENTS}`,
    ...[JSON.stringify(jobs), from.job, from.row],
  );
  const byJob = new Map<string, OldEvent[]>();
  for (const { job, goes, ...event } of rows) {
    if (goes === 1) byJob.set(job, [...(byJob.get(job) ?? []), event]);
  }
  if (byJob.size > 0) await collapseEvents(turn, byJob);
  const last = rows.at(-1);
  return {
    next: last && rows.length === EVENTS ? { job: last.job, row: last.id } : null,
    events: rows.reduce((sum, { goes }) => sum + goes, 0),
  };
}

/** What stays of an artifact. */
const KEPT = 'id, sha256, kind, size_bytes, created_at, filename, metadata';

/** Artifacts go but for those that a job names as its inputs. What is left of one says that it was there. */
async function shedArtifacts(
  turn: Turn,
  jobs: readonly string[],
  from: Place,
  which: string,
): ReturnType<Slice> {
  const { reader } = turn.core.store;
  const tasks = await reader.all<{ job: string; seq: number; id: string }[]>(
    sql`SELECT t.job_id AS job, t.seq, t.id
     ${FROM} tasks t ON t.job_id = k.value AND ${BEHIND('t.seq')} LIMIT ${TASKS}`,
    ...[JSON.stringify(jobs), from.job, from.row],
  );
  const found = await reader.all<{ id: string }[]>(
    sql`SELECT artifacts.id FROM ${each('?', 'text', 'k')} ${JOIN} task_artifacts u ON u.task_id = k.value ${which}
     ${JOIN} artifacts ON artifacts.id = u.artifact_id WHERE ${UNNAMED}`,
    JSON.stringify(tasks.map(({ id }) => id)),
  );
  const ids = JSON.stringify(found.map(({ id }) => id));
  const among = sql`id ${amongTexts()}`;
  if (found.length > 0)
    turn.further.push(
      { sql: unnamedObjects(among), params: [turn.now, ids] },
      {
        sql: sql`INSERT INTO expired_artifacts (${KEPT}, expired_at)
          SELECT ${KEPT}, ${typed('?', 'double precision')} FROM artifacts WHERE ${among}
          ON CONFLICT (id) DO UPDATE SET expired_at = excluded.expired_at`,
        params: [turn.now, ids],
      },
      { sql: sql`DELETE FROM artifacts WHERE ${among}`, params: [ids] },
    );
  const last = tasks.at(-1);
  return {
    next: last && tasks.length === TASKS ? { job: last.job, row: last.seq } : null,
    artifacts: found.length,
  };
}
