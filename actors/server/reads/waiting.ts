import { expectedSeconds, type RunTimes } from '../../../machines/job/run-times.ts';
import { cutJobPieces } from '../jobs/job-pieces.ts';
import { placesOf } from '../scheduling/named-paths.ts';
import { hasSeveral } from '../scheduling/work-queue.ts';
import type { Queries } from '../store/sql.ts';
import { inSteps } from '../turn/steps.ts';
import type { Live, WaitingTask } from './live-reads.ts';

/** What of a queued task's row decides what it waits for. */
export interface QueuedTask {
  requirement_id: number;
  /** A JSON list, or null. */
  avoids: string | null;
  /** Seconds since the epoch. */
  not_before: number | null;
  /** Which pipeline and dataset of the job's specification. */
  pipeline: number;
  dataset: number;
  timeout_seconds: number | null;
}

type Lacked = ReturnType<typeof placesOf>;

/** What a queued task waits for; the same for all that wait for the same. */
export function waitingTask(
  task: QueuedTask,
  now: number,
  { lacked, seconds }: { lacked: Lacked; seconds: number | null },
): WaitingTask {
  const paths = [lacked.pipelines.get(task.pipeline), lacked.datasets.get(task.dataset)];
  return {
    requirement: task.requirement_id,
    avoids: task.avoids === null ? [] : (JSON.parse(task.avoids) as string[]),
    paths: paths.filter((path) => path !== undefined),
    seconds: task.timeout_seconds ?? seconds,
    backoff: task.not_before !== null && task.not_before > now,
  };
}

/** How long a task of a job without a limit is expected to take, in seconds; null where that is not known. */
export async function secondsIn(db: Queries, jobId: string): Promise<number | null> {
  const row = await db.get<{ run_times: string | null; num_tasks: number; selection: string | null }>(
    'SELECT run_times, num_tasks, selection FROM jobs WHERE id = ?',
    jobId,
  );
  if (!row?.run_times || !hasSeveral(row)) return null;
  return expectedSeconds(JSON.parse(row.run_times) as RunTimes);
}

/** The pipelines and datasets of a job whose path some worker lacks, by their places. */
export async function lackedPlaces(db: Queries, live: Live, jobId: string): Promise<Lacked> {
  const missing = live.missingPaths();
  const none = { pipelines: new Map(), datasets: new Map() };
  if (missing.size === 0) return none;
  const row = await db.get<{ request: string }>('SELECT request FROM job_requests WHERE job_id = ?', jobId);
  return row ? placesOf(await inSteps(cutJobPieces(row.request)), (path) => missing.has(path)) : none;
}
