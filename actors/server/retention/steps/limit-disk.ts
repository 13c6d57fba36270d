import { setImmediate } from 'node:timers/promises';
import { namedObjects } from '../../check/objects.ts';
import { sql } from '../../store/sql.ts';
import { JOIN } from '../../store/sql-words.ts';
import { dueJobs, stillDue } from '../due-jobs.ts';
import type { Step, Work } from '../work.ts';
import { UNNAMED } from './clear-deletions.ts';
import { deleteThese } from './expire-jobs.ts';

/** Part of the limit from which on a warning is given, and down to which jobs are deleted. */
const NEAR = 0.9;
const ENOUGH = 0.95;
/** Seconds between the warning and the first job that is deleted. */
const NOTICE = 3000;

const GIB = 1024 ** 3;
const gib = (bytes: number): string => `${(bytes / GIB).toFixed(1)} GiB`;

/**
 * Beyond the limit the oldest jobs go, until less is taken. What is kept counts, not what is on its way out: the bytes
 * of what was deleted are on the disk for a day more. A warning comes before the first job goes.
 */
export const limitDisk: Step = async function* (work) {
  const { settings, progress, alone, clock } = work;
  const limit = settings.maxDiskBytes;
  if (limit === 0) return;
  const store = await storeBytes(work);
  let used = store;
  for await (const page of namedObjects(work.store.pages)) {
    for (const { size_bytes } of page) used += size_bytes;
    await setImmediate();
    yield;
  }
  used -= await othersBytes(work);
  progress.usedBytes = used;
  if (used < NEAR * limit) {
    progress.warnedAt = null;
    return;
  }
  if (progress.warnedAt === null) {
    const message = `jobs and artifacts take ${gib(used)} of ${gib(limit)} (--max-disk-gb): beyond it the oldest jobs are deleted`;
    await alone(async (turn) => {
      turn.event(
        {},
        {
          level: 'warning',
          type: 'disk_limit_near',
          message,
          data: { used_bytes: used, limit_bytes: limit },
        },
      );
    });
    progress.warnedAt = clock.monotonic();
    return;
  }
  if (used <= limit || clock.monotonic() - progress.warnedAt < NOTICE) return;
  yield* deleteOldest(work, used - ENOUGH * limit, store);
};

async function* deleteOldest(
  work: Work,
  excess: number,
  storeBytes: number,
): AsyncGenerator<void, void, void> {
  const { store, alone, progress } = work;
  const tasks = (await store.queries.get<{ n: number }>('SELECT sum(num_tasks) AS n FROM jobs'))?.n ?? 0;
  const perTask = storeBytes / Math.max(1, tasks);
  // Which are the oldest is known by their order, whatever the clock says.
  const before = Number.MAX_SAFE_INTEGER;
  work.places.delete('jobs');
  for await (const group of dueJobs(work, 'jobs', before)) {
    for (const id of group) {
      if (excess <= 0) return;
      // Beside the turns of others: a job may have very many artifacts.
      const bytes = await bytesOf(work, id);
      await alone(async (turn) => {
        const [due] = await stillDue(work, [id], before, { withUsers: 'gone' });
        if (due === undefined) return;
        await deleteThese(turn, [due], { flag: '--max-disk-gb' }, progress);
        turn.afterCommit(() => {
          excess -= bytes.artifacts + bytes.tasks * perTask;
        });
      });
      yield;
    }
    yield;
  }
}

/** What is likely to be free once a job is gone: bytes that other artifacts have too are not told from others. */
async function bytesOf({ store }: Work, id: string): Promise<{ artifacts: number; tasks: number }> {
  const row = await store.queries.get<{
    artifacts: number | null;
    inputs: number | null;
    tasks: number | null;
  }>(
    sql`SELECT (SELECT sum(a.size_bytes) FROM tasks t ${JOIN} task_artifacts u ON u.task_id = t.id
               ${JOIN} artifacts a ON a.id = u.artifact_id WHERE t.job_id = j.id) AS artifacts,
            (SELECT sum(a.size_bytes) FROM job_inputs i ${JOIN} artifacts a ON a.id = i.artifact_id
              WHERE i.job_id = j.id AND NOT EXISTS (SELECT 1 FROM job_inputs o
                WHERE o.artifact_id = i.artifact_id AND o.job_id <> i.job_id)) AS inputs,
            j.num_tasks AS tasks FROM jobs j WHERE j.id = ?`,
    id,
  );
  return { artifacts: (row?.artifacts ?? 0) + (row?.inputs ?? 0), tasks: row?.tasks ?? 0 };
}

/** Without the pages that are free in it. */
async function storeBytes({ store }: Work): Promise<number> {
  const { pages, free, pageBytes } = await store.size();
  return (pages - free) * pageBytes;
}

/**
 * What goes by itself, or stays whatever jobs are deleted: inputs whose last job was deleted, in their day of grace, and
 * uploads that no job has named.
 */
async function othersBytes({ store }: Work): Promise<number> {
  const row = await store.queries.get<{ bytes: number | null }>(
    `SELECT sum(size_bytes) AS bytes FROM artifacts WHERE (orphaned_at IS NOT NULL OR task_id IS NULL) AND ${UNNAMED}
     AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = artifacts.task_id)`,
  );
  return row?.bytes ?? 0;
}
