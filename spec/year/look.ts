import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { open } from 'sqlite';
import sqlite3 from 'sqlite3';
import { ResponseError } from '../../gateway/client/errors.ts';
import type { JobView, TaskView } from '../../machines/schema/views.ts';
import { must } from '../history/history.ts';
import { compareCounts, type JobRow, Rows, type TaskRow } from '../history/rows.ts';
import type { Kept } from './kept.ts';
import type { World } from './world.ts';

/** What a store holds, as text to be compared: all that a backup has to bring back. */
export async function contentsOf(state: string): Promise<Record<string, string[]>> {
  return reading(state, async (all) => ({
    jobs: await all(
      'SELECT id, status, num_tasks, num_succeeded, num_failed, num_cancelled, best_metric FROM jobs ORDER BY seq',
    ),
    requests: await all('SELECT job_id, request FROM job_requests ORDER BY job_id'),
    tasks: await all('SELECT id, status, attempt, result, error FROM tasks ORDER BY seq'),
    artifacts: await all('SELECT id, sha256, size_bytes FROM artifacts ORDER BY id'),
    events: await all('SELECT id, type, job_id, task_id FROM events ORDER BY id'),
  }));
}

export async function lastEventOf(state: string): Promise<number> {
  const [last] = await reading(state, (all) => all('SELECT ifnull(MAX(id), 0) FROM events'));
  return Number(JSON.parse(last as string)[0]);
}

/** Those that are still in its log included. */
export async function storeBytes(state: string): Promise<number> {
  const [size] = await reading(state, (all) =>
    all('SELECT page_count * page_size FROM pragma_page_count, pragma_page_size'),
  );
  return Number(JSON.parse(size as string)[0]);
}

export async function artifactsOf(state: string): Promise<{ id: string; sha256: string }[]> {
  const rows = await reading(state, (all) => all('SELECT id, sha256 FROM artifacts ORDER BY id'));
  return rows.map((row) => {
    const [id, sha256] = JSON.parse(row) as [string, string];
    return { id, sha256 };
  });
}

/** Reads a store beside the server that has it. */
async function reading<T>(
  state: string,
  work: (all: (sql: string) => Promise<string[]>) => Promise<T>,
): Promise<T> {
  const filename = join(state, 'store.sqlite');
  const db = await open({ filename, driver: sqlite3.Database, mode: sqlite3.OPEN_READONLY });
  try {
    return await work(async (sql) => {
      const rows = await db.all<Record<string, unknown>[]>(sql);
      return rows.map((row) => JSON.stringify(Object.values(row)));
    });
  } finally {
    await db.close();
  }
}

/** Rows that belong to jobs which are not there. */
const STRAYS = ['tasks', 'job_requests']
  .map((table) => `SELECT '${table}', job_id FROM ${table} WHERE job_id NOT IN (SELECT id FROM jobs)`)
  .join(' UNION ALL ');

/** The nightly look: whether the rows that clients see are what the events say, and nothing is missing. */
export class Looks {
  readonly #world: World;
  readonly #kept: Kept;
  readonly #rows: Rows;

  constructor(world: World, kept: Kept) {
    this.#world = world;
    this.#kept = kept;
    this.#rows = new Rows(world.history);
  }

  /** At a moment at which nobody asks for anything. */
  async look(): Promise<void> {
    const world = this.#world;
    const { history, counts, state } = world;
    counts.looks++;
    await world.caughtUp(await lastEventOf(state));
    const viewer = world.doors.of('viewer');
    for (const id of history.moved) {
      const params = { id };
      const job = await world
        .insist(() => viewer.call('getJob', { params }))
        .catch((fault: unknown) => {
          const isUnknown = fault instanceof ResponseError && fault.code === 'unknown_id';
          throw isUnknown ? new Error(`job ${id} is lost`) : fault;
        });
      const tasks = await world.insist(() => viewer.call('listJobTasks', { params }));
      this.#rows.compareJob(jobRow(job as JobView, tasks as TaskView[]), null);
    }
    history.settle();
    const stats = await world.insist(() => viewer.call('getStats'));
    compareCounts('tasks by status', stats.tasks_by_status, history.taskCounts);
    compareCounts('jobs by status', stats.jobs_by_status, history.jobCounts);
    await this.#comparePresence();
    this.#kept.assertGone(world.now);
    await this.#downloadPinned();
  }

  async #comparePresence(): Promise<void> {
    const { state, history } = this.#world;
    const [rows, strays] = await reading(state, async (all) => [
      await all('SELECT id, status FROM jobs'),
      await all(STRAYS),
    ]);
    const there = new Map(rows.map((row) => JSON.parse(row) as [string, string]));
    for (const [id, status] of there) {
      must(!history.deleted.has(id), `job ${id} was deleted, and is there`);
      const known = history.jobs.get(id)?.status;
      must(known === status, `job ${id} is ${status}, by the events ${known}`);
    }
    for (const id of history.jobs.keys()) must(there.has(id), `job ${id} is lost`);
    must(strays.length === 0, `of jobs that were deleted, this is left: ${strays.slice(0, 5).join(', ')}`);
  }

  /** Of what is to be kept for ever, every file. */
  async #downloadPinned(): Promise<void> {
    const { doors } = this.#world;
    const viewer = doors.of('viewer');
    for (const id of this.#kept.pinned) {
      const artifacts = await this.#world.insist(() => viewer.call('listJobArtifacts', { params: { id } }));
      for (const { id: artifact, sha256 } of artifacts) {
        const { body } = await this.#world.insist(() => viewer.download(artifact));
        const hash = createHash('sha256')
          .update(await buffer(body))
          .digest('hex');
        must(hash === sha256, `the artifact ${artifact} of a job that is kept for ever holds other bytes`);
      }
    }
  }
}

function jobRow(job: JobView, tasks: TaskView[]): JobRow {
  const { num_queued, num_running, num_succeeded, num_failed, num_cancelled } = job.aggregate;
  const counts = {
    ...{ queued: num_queued, running: num_running },
    ...{ succeeded: num_succeeded, failed: num_failed, cancelled: num_cancelled },
  };
  return { id: job.id, status: job.status, counts, tasks: tasks.map(taskRow) };
}

const taskRow = (view: TaskView): TaskRow => ({
  ...{ id: view.id, status: view.status, attempt: view.attempt, worker: view.worker_id },
  leaseEnds: view.lease_expires_at,
  result: view.result === null ? null : JSON.stringify(view.result),
  reusedFrom: view.reused_from?.task_id ?? null,
});
