/* The statuses of jobs, tasks and workers, each in one list: what asks for several of them asks here. */

export const JOB_STATUSES = ['queued', 'running', 'cancelling', 'cancelled', 'succeeded', 'failed'] as const;
export const TASK_STATUSES = [
  'queued',
  'leased',
  'running',
  'lost',
  'succeeded',
  'failed',
  'cancelled',
] as const;
export const WORKER_STATUSES = ['alive', 'dead'] as const;

type JobStatus = (typeof JOB_STATUSES)[number];
type TaskStatus = (typeof TASK_STATUSES)[number];

/** Of a task that a worker holds: it takes one of the worker's slots, and its lease expires. */
export const HELD_STATUSES = ['leased', 'running'] as const satisfies readonly TaskStatus[];

/** Of a job or task that goes on only if somebody retries it. */
export const ENDED_STATUSES = ['succeeded', 'failed', 'cancelled'] as const satisfies readonly (JobStatus &
  TaskStatus)[];

const ended: ReadonlySet<JobStatus | TaskStatus> = new Set(ENDED_STATUSES);

export const hasEnded = (status: JobStatus | TaskStatus): boolean => ended.has(status);
