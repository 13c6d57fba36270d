import type { JobView, TaskView } from '../../../../machines/schema/views.ts';

export type JobStatus = JobView['status'];
export type TaskStatus = TaskView['status'];

/** In the order in which people ask for them. */
export const JOB_STATUSES: readonly JobStatus[] = [
  'queued',
  'running',
  'cancelling',
  'succeeded',
  'failed',
  'cancelled',
];

/** Cancelling what is being cancelled or has ended changes nothing. */
export const canCancel = (status: JobStatus): boolean => status === 'queued' || status === 'running';

/** A job that failed, or succeeded with failed tasks. */
export const canRetry = ({ status, aggregate }: Pick<JobView, 'status' | 'aggregate'>): boolean =>
  (status === 'failed' || status === 'succeeded') && aggregate.num_failed > 0;
