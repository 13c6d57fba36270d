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
  /** The sum of the squares of these starts; absent in jobs that ran under an earlier version. */
  since_squared?: number;
}

const NONE: RunTimes = { count: 0, mean: 0, squares: 0, since: 0, since_squared: 0 };

/** An attempt ended with which its task did. */
export function withRunTime(times: RunTimes | null, seconds: number): RunTimes {
  const { count, mean, squares, median, ...rest } = times ?? NONE;
  const next = mean + (seconds - mean) / (count + 1);
  return {
    ...rest,
    count: count + 1,
    mean: next,
    squares: squares + (seconds - mean) * (seconds - next),
    median: withNumber(median, seconds),
  };
}

/** How long one more attempt at a task of the job is expected to take, in seconds: the median; null while none has ended. */
export function expectedSeconds(times: RunTimes | null): number | null {
  if (times === null || times.count === 0) return null;
  return times.median ? medianOf(times.median) : times.mean;
}

/** An attempt began so long after the submission of the job, in seconds. */
export const withStart = (times: RunTimes | null, seconds: number): RunTimes => withStarts(times, seconds, 1);

/** One that did so is over. */
export const withoutStart = (times: RunTimes | null, seconds: number): RunTimes =>
  withStarts(times, seconds, -1);

function withStarts(times: RunTimes | null, seconds: number, sign: 1 | -1): RunTimes {
  const { since_squared, ...known } = times ?? NONE;
  const squared = since_squared === undefined ? {} : { since_squared: since_squared + sign * seconds ** 2 };
  return { ...known, since: known.since + sign * seconds, ...squared };
}

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
  const { seconds, spread } = timeLeft(taskTimes(run_times, slots, agesOf(job, run_times)), queued, slots);
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

/** For how long those that run have done so. */
interface Ages {
  mean: number;
  /** Null where it is not known. */
  variance: number | null;
}

function agesOf({ counts, created_at, updated_at }: Progress, { since, since_squared }: RunTimes): Ages {
  const { running } = counts;
  if (running === 0) return { mean: 0, variance: null };
  const mean = Math.max(0, updated_at - created_at - since / running);
  if (since_squared === undefined) return { mean, variance: null };
  return { mean, variance: Math.max(0, since_squared / running - (since / running) ** 2) };
}

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
  /** How far those that run are apart, 0 to 1: 0 where they began together, 1 where one ends after the other. */
  apart: number;
  /** By how much each further task takes them apart. */
  parting: number;
}

/**
 * How long a task takes. Those that ended first are the short ones, the more so the more run at once: those that run will
 * have taken what they have so far and their rest, and count, too.
 */
function taskTimes({ count, mean: first, squares }: RunTimes, slots: number, ages: Ages): TaskTimes {
  const known = (squares + (UNKNOWN_SPREAD * first) ** 2) / count;
  const scatter = first === 0 ? 0 : Math.min(1, known / first ** 2);
  const share = slots / (count + slots);
  // A moment is more likely in a long task than in a short one: of equal ones half is left, else more.
  const mean = Math.max(first, ((1 - share) * first + share * ages.mean) / (1 - (share * (1 + scatter)) / 2));
  const raised = mean - first;
  const variance = known * (first === 0 ? 1 : mean / first) ** 2 + raised ** 2;
  // The less they differ, the more is known of the rest by what they have run for.
  const rest = mean === 0 ? 0 : scatter + (1 - scatter) * Math.max(0, 1 - ages.mean / mean);
  // Of tasks that end one after the other.
  const even = mean ** 2 / 12;
  const between = Math.min(even, ages.variance ?? even);
  const restVariance = (variance / 4) * (1 + 3 * scatter) + between * (1 - scatter);
  const parts = (of: number) => (even === 0 ? 0 : Math.min(1, of / even));
  const parting = parts(squares / count);
  return {
    mean,
    variance,
    raised,
    unsure: (1 + 2 * share) / count,
    rest,
    restVariance,
    apart: parts(between),
    parting,
  };
}

/**
 * Tasks follow each other on the slots; in the end the last one of those that run is waited for. Where they run in step,
 * wave by wave, the last wave takes as long as the others, however few are in it.
 */
function timeLeft(times: TaskTimes, queued: number, slots: number): { seconds: number; spread: number } {
  const { mean, variance, raised, unsure, rest, restVariance, apart, parting } = times;
  const evenly = (queued * mean) / slots + rest * mean + aboveMean(slots, restVariance);
  const waves = Math.ceil(queued / slots);
  const lastWave = queued - (waves - 1) * slots;
  const inStep = (rest + waves) * mean + aboveMean(lastWave, variance);
  const even = waves === 0 ? 1 : Math.min(1, apart + waves * parting);
  const work = queued + slots * rest;
  const ofQueue = (queued * variance + (queued * raised) ** 2 + work ** 2 * variance * unsure) / slots ** 2;
  const ofBoth = even * (1 - even) * (evenly - inStep) ** 2;
  return {
    seconds: even * evenly + (1 - even) * inStep,
    spread: Math.sqrt(ofQueue + restVariance + ofBoth),
  };
}

/** What the largest of several is expected to be above their mean, about. */
const aboveMean = (several: number, variance: number): number =>
  0.8 * Math.sqrt(2 * Math.log(several) * variance);
