import type { JobStatus } from '../schema/views.ts';
import { medianOf, type RunningMedian, withNumber } from './median.ts';
import type { Selection } from './selection.ts';
import type { TaskCounts } from './types.ts';

/** How long attempts at the tasks of a job run, in seconds. */
export interface RunTimes {
  /** Attempts with which a task ended, their mean, and the sum of the squared differences from it (Welford's method). */
  count: number;
  mean: number;
  squares: number;
  /** Their median; absent in jobs that ran under an earlier version. */
  median?: RunningMedian;
  /** Of the attempts that run now: the sum of their starts, each counted from the submission of the job. */
  since: number;
}

const NONE: RunTimes = { count: 0, mean: 0, squares: 0, since: 0 };

/** An attempt ended with which its task did. */
export function withRunTime(times: RunTimes | null, seconds: number): RunTimes {
  const { count, mean, squares, since, median } = times ?? NONE;
  const next = mean + (seconds - mean) / (count + 1);
  return {
    count: count + 1,
    mean: next,
    squares: squares + (seconds - mean) * (seconds - next),
    since,
    median: withNumber(median, seconds),
  };
}

/** How long one more attempt at a task of the job is expected to take, in seconds: the median; null while none has ended. */
export function expectedSeconds(times: RunTimes | null): number | null {
  if (times === null || times.count === 0) return null;
  return times.median ? medianOf(times.median) : times.mean;
}

/** An attempt began so long after the submission of the job; negative: one that did so is over. */
export const withStart = (times: RunTimes | null, seconds: number): RunTimes => ({
  ...(times ?? NONE),
  since: (times ?? NONE).since + seconds,
});

/** When a job will have ended, in seconds since the epoch. */
export interface Estimate {
  ends_at: number;
  /** It is likely between these two. */
  earliest: number;
  latest: number;
  /** From how many tasks this is known. */
  num_timed: number;
}

interface Progress {
  status: JobStatus;
  counts: TaskCounts;
  run_times: RunTimes | null;
  selection: Selection | null;
  created_at: number;
  updated_at: number;
}

/** Of a normal distribution, nine tenths lie within so many standard deviations. */
const NINE_TENTHS = 1.645;
/** The spread of a single time, as a share of it, before there are others to tell. */
const UNKNOWN_SPREAD = 0.5;

/**
 * When a job will have ended if what is left of it is like what has ended, on as many slots as work for it now. Null while
 * nothing of it runs, before the first task has ended, and where it is not known how many there will be.
 */
export function estimateOf(job: Progress): Estimate | null {
  const { counts, run_times, selection, updated_at } = job;
  const slots = counts.leased + counts.running;
  if (job.status !== 'running' || !run_times?.count || slots === 0 || selection?.expanding) return null;
  const queued = counts.queued + refitsToCome(selection);
  const { seconds, spread } = timeLeft(taskTimes(run_times, slots, ageOf(job, run_times)), queued, slots);
  return {
    ends_at: updated_at + seconds,
    earliest: updated_at + Math.max(0, seconds - NINE_TENTHS * spread),
    latest: updated_at + seconds + NINE_TENTHS * spread,
    num_timed: run_times.count,
  };
}

/** Tasks that are not queued yet: one for each dataset on which nothing has been selected. */
const refitsToCome = (selection: Selection | null): number =>
  selection?.refit ? selection.datasets.filter(({ decided }) => !decided).length : 0;

/** For how long those that run have done so, on average. */
const ageOf = ({ counts, created_at, updated_at }: Progress, { since }: RunTimes): number =>
  counts.running === 0 ? 0 : Math.max(0, updated_at - created_at - since / counts.running);

interface TaskTimes {
  mean: number;
  variance: number;
  /** By how much the mean is larger than that of the tasks that ended. */
  raised: number;
  /** How far the mean itself may be off, as a share of the variance. */
  unsure: number;
  /** Of one that runs: what is left of it on average, as a share of the mean, and the variance of that. */
  rest: number;
  restVariance: number;
}

/**
 * How long a task takes. Those that ended first are the short ones, the more so the more run at once: those that run will
 * have taken what they have so far and their rest, and count, too.
 */
function taskTimes({ count, mean: first, squares }: RunTimes, slots: number, age: number): TaskTimes {
  const known = (squares + (UNKNOWN_SPREAD * first) ** 2) / count;
  const scatter = first === 0 ? 0 : Math.min(1, known / first ** 2);
  // A moment is more likely in a long task than in a short one: of equal ones half is left, else more.
  const rest = (1 + scatter) / 2;
  const share = slots / (count + slots);
  const mean = Math.max(first, ((1 - share) * first + share * age) / (1 - share * rest));
  const raised = mean - first;
  const variance = known * (first === 0 ? 1 : mean / first) ** 2 + raised ** 2;
  const restVariance = (variance / 4) * (1 + 3 * scatter) + (mean ** 2 / 12) * (1 - scatter);
  return { mean, variance, raised, unsure: (1 + 2 * share) / count, rest, restVariance };
}

/** Tasks follow each other on the slots; in the end the last one of those that run is waited for. */
function timeLeft(times: TaskTimes, queued: number, slots: number): { seconds: number; spread: number } {
  const { mean, variance, raised, unsure, rest, restVariance } = times;
  // What the largest of several is expected to be above their mean, about.
  const last = rest * mean + 0.8 * Math.sqrt(2 * Math.log(slots) * restVariance);
  const work = queued + slots * rest;
  const ofQueue = (queued * variance + (queued * raised) ** 2 + work ** 2 * variance * unsure) / slots ** 2;
  return { seconds: (queued * mean) / slots + last, spread: Math.sqrt(ofQueue + restVariance) };
}
