import type {
  JobStatus,
  JobView,
  TaskStatus,
  WorkerStatus,
  WorkerView,
} from '../../machines/schema/views.ts';
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

/** How a worker stands: one that is alive may ask for no tasks at present. */
export function workerStanding(
  { status, suspended }: Pick<WorkerView, 'status' | 'suspended'>,
  colours: Colours,
): string {
  return status === 'alive' && isSuspended({ suspended })
    ? colours.yellow('suspended')
    : styled(status, colours);
}

/** Servers of earlier versions do not say. */
export const isSuspended = ({ suspended }: Pick<WorkerView, 'suspended'>): boolean =>
  typeof suspended === 'string';

/** How a job stands. One that succeeded with failed tasks says so, and is not green. */
export function jobStanding(
  { status, aggregate }: Pick<JobView, 'status' | 'aggregate'>,
  colours: Colours,
): string {
  const { num_failed } = aggregate;
  if (status !== 'succeeded' || num_failed === 0) return styled(status, colours);
  return colours.yellow(`succeeded, ${num_failed} failed`);
}
