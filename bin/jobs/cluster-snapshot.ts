import type { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError } from '../../gateway/client/errors.ts';
import { ENDED_STATUSES } from '../../machines/schema/statuses.ts';
import type { ClusterStats, JobView, StatsMinute, WorkerView } from '../../machines/schema/views.ts';

/** The cluster at one moment. */
export interface ClusterSnapshot {
  /** Seconds since the epoch, on this machine. */
  at: number;
  stats: ClusterStats;
  /** One entry a minute, the present one last. */
  history: StatsMinute[];
  /** What runs, what waits and what has ended, each the newest first. */
  jobs: JobView[];
  workers: WorkerView[];
}

/**
 * Asks for everything at the same time.
 * @param mostJobs at most so many of each kind
 */
export async function clusterSnapshot(
  client: ClusterClient,
  mostJobs: number,
  signal: AbortSignal,
): Promise<ClusterSnapshot> {
  const limit = Math.min(Math.max(mostJobs, 1), 1000);
  const jobs = (query: { status?: JobView['status'] }) =>
    client.call('listJobs', { query: { ...query, limit }, signal });
  const [stats, history, workers, running, cancelling, queued, newest] = await Promise.all([
    client.call('getStats', { signal }),
    client.call('getStatsHistory', { signal }).catch(ifUnsupported<StatsMinute[]>([])),
    client.call('listWorkers', { signal }),
    jobs({ status: 'running' }),
    jobs({ status: 'cancelling' }),
    jobs({ status: 'queued' }),
    jobs({}),
  ]);
  const seen = new Map<string, JobView>();
  // A job that moved between two of the questions is shown as the last answer has it.
  for (const job of [...running, ...cancelling, ...queued, ...newest]) seen.set(job.id, job);
  return { at: Date.now() / 1000, stats, history, jobs: [...seen.values()], workers };
}

/** Gives `instead` where a server lacks an endpoint that the protocol does not require. */
export const ifUnsupported =
  <T>(instead: T) =>
  (error: unknown): T => {
    if (error instanceof ResponseError && (error.status === 404 || error.status === 405)) return instead;
    throw error;
  };

const ended = ({ tasks_by_status: tasks }: ClusterStats): number =>
  ENDED_STATUSES.reduce((sum, status) => sum + (tasks[status] ?? 0), 0);

/** Tasks that ended, per second, from one snapshot to the next; undefined where that cannot be told. */
export function throughput(before: ClusterSnapshot | undefined, now: ClusterSnapshot): number | undefined {
  const seconds = before === undefined ? 0 : now.at - before.at;
  if (before === undefined || seconds <= 0) return undefined;
  // A retried job takes its failed tasks back.
  return Math.max(0, ended(now.stats) - ended(before.stats)) / seconds;
}
