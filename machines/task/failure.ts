import type { Failure, TaskContext } from './types.ts';

/** So many faults of workers cost a task no attempt (docs/semantics.md#faults-and-attempts). */
const FREE_WORKER_FAULTS = 5;
/** Seconds: a wait is not doubled beyond it. */
export const LONGEST_BACKOFF = 600;

type Spending = Pick<TaskContext, 'attempt' | 'max_attempts' | 'worker_faults'>;

/** Whether a failure of this worker's own making costs no attempt. */
export const isFree = ({ worker_faults }: Spending, { fault }: Pick<Failure, 'fault'>): boolean =>
  fault === 'worker' && worker_faults < FREE_WORKER_FAULTS;

/**
 * Whether a failed task is queued again. What is a worker's fault is tried only elsewhere: where nobody is left
 * who could, the task fails with that error.
 */
export function isTriedAgain(
  context: Spending,
  failure: Pick<Failure, 'retriable' | 'fault' | 'elsewhere'>,
): boolean {
  if (!failure.retriable) return false;
  if (failure.fault === 'worker' && !failure.elsewhere) return false;
  return isFree(context, failure) || context.attempt < context.max_attempts;
}

/** When a task that failed now may be leased again; null: at once. Attempts that cost nothing double nothing. */
export function backoffFrom(
  now: number,
  { attempt, worker_faults, take_backs, backoff_seconds }: TaskContext,
): number | null {
  if (backoff_seconds === 0) return null;
  const spent = attempt - Math.min(worker_faults, FREE_WORKER_FAULTS) - take_backs;
  return now + Math.min(LONGEST_BACKOFF, backoff_seconds * 2 ** Math.max(0, spent - 1));
}
