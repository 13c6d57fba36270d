import type { JobStatus, JobView, TaskStatus, WorkerStatus } from '../../machines/schema/views.ts';
import { conditionOf } from '../../machines/worker/condition.ts';
import type { Colours } from './output.ts';

/** A status in the colour that it has everywhere. */
export function styled(status: JobStatus | TaskStatus | WorkerStatus, colours: Colours): string {
  switch (status) {
    case 'succeeded':
    case 'alive':
      return colours.green(status);
    case 'failed':
    case 'dead':
      return colours.red(status);
    case 'running':
    case 'leased':
      return colours.cyan(status);
    case 'queued':
      return status;
    default:
      return colours.yellow(status);
  }
}

/** How a worker stands, in its colour. */
export function workerState(worker: Parameters<typeof conditionOf>[0], colours: Colours): string {
  const condition = conditionOf(worker);
  if (condition === 'stopped') return colours.dim(condition);
  return condition === 'alive' || condition === 'dead'
    ? styled(condition, colours)
    : colours.yellow(condition);
}

/** How a job stands. One that succeeded with failed tasks says so, and is not green. */
export function jobState(
  { status, aggregate }: Pick<JobView, 'status' | 'aggregate'>,
  colours: Colours,
): string {
  const words = jobWords({ status, aggregate });
  return words === status ? styled(status, colours) : colours.yellow(words);
}

/** The same in plain words. */
export function jobWords({ status, aggregate }: Pick<JobView, 'status' | 'aggregate'>): string {
  const { num_failed } = aggregate;
  return status === 'succeeded' && num_failed > 0 ? `succeeded, ${num_failed} failed` : status;
}
