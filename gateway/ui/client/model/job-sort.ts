import type { JobView } from '../../../../machines/schema/views.ts';
import { JOB_STATUSES } from './status.ts';

export const JOB_COLUMNS = ['status', 'name', 'priority', 'tasks', 'best', 'created', 'updated'] as const;
export type JobColumn = (typeof JOB_COLUMNS)[number];

const KEYS: Readonly<Record<JobColumn, (job: JobView) => number | string | null>> = {
  status: (job) => JOB_STATUSES.indexOf(job.status),
  name: (job) => job.name?.toLowerCase() ?? null,
  priority: (job) => job.priority,
  tasks: (job) => job.aggregate.num_tasks,
  best: (job) => job.aggregate.best_metric,
  created: (job) => job.created_at,
  updated: (job) => job.updated_at,
};

/** Sorts a page of jobs; those without a value come last either way, equals keep the server's order. */
export function sortedJobs(jobs: readonly JobView[], sort: string): readonly JobView[] {
  if (sort === '') return jobs;
  const descending = sort.startsWith('-');
  const key = KEYS[(descending ? sort.slice(1) : sort) as JobColumn];
  const sign = descending ? -1 : 1;
  return [...jobs].sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return x === y ? 0 : sign * (x < y ? -1 : 1);
  });
}
