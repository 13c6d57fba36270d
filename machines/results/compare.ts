import { rankModeIn } from '../ranking/standing.ts';
import { counterparts, metricIn, rankMetricOf } from '../ranking/table.ts';
import { libraryOf } from '../schema/job-types.ts';
import type { JobView, RankingEntry, TaskView } from '../schema/views.ts';
import { type MeasuredOn, measuredOn } from './measured-on.ts';
import { libraryVersionOf } from './versions.ts';

/** A job that is compared with others. */
export interface ComparedJob {
  job: JobView;
  /** Its specification as it was submitted. */
  request: string;
  /** Of its library, those that computed its results, such as `mljs 0.1.0`. */
  versions: readonly string[];
  /** Of its tasks that succeeded, as far as they were read. */
  results: readonly Result[];
}

type Result = NonNullable<TaskView['result']>;

/** @param succeeded tasks of the job, or the first of them */
export function comparedJob(job: JobView, request: string, succeeded: readonly TaskView[]): ComparedJob {
  const library = libraryOf(job.type);
  const versions = succeeded.map(({ result }) => libraryVersionOf(job.type, result));
  const known = [...new Set(versions.filter((version) => version !== null))];
  const results = succeeded.flatMap(({ result }) => (result === null ? [] : [result]));
  return { job, request, versions: known.map((version) => `${library} ${version}`), results };
}

/**
 * What those of several jobs report that report any number, the metric first by which the first of them ranks; so one
 * that failed hides nothing of the others.
 */
export function commonMetrics(all: readonly ComparedJob[]): string[] {
  const jobs = all.filter(({ job: { aggregate } }) =>
    aggregate.ranking.some((entry) =>
      [rankMetricOf(aggregate), ...Object.keys(entry.metrics)].some((name) => metricIn(entry, name) !== null),
    ),
  );
  const named = jobs.map(({ job: { aggregate } }) => {
    const [first] = aggregate.ranking;
    const own = rankMetricOf(aggregate);
    return [own, ...Object.keys(first?.metrics ?? {}).filter((name) => name !== own)];
  });
  const reported = ({ job: { aggregate } }: ComparedJob, metric: string) =>
    aggregate.ranking.some((entry) => metricIn(entry, metric) !== null);
  return [...new Set(named.flat())].filter((metric) => jobs.every((job) => reported(job, metric)));
}

/** By what jobs are compared, and whether it is the same in all of them. */
export interface ChosenMetric {
  metric: string | undefined;
  /** Which end of it is better; null without one. */
  mode: 'min' | 'max' | null;
  /** By job, on what the metric was measured; empty where nothing says so. */
  measured: (readonly MeasuredOn[])[];
  /** False where one job measured it on other samples than another. */
  isAlike: boolean;
  /** A sentence where the metric that was to be taken is not measured alike; else null. */
  warning: string | null;
}

/**
 * The metric to compare by: the wanted one, else the first that is measured alike in all jobs, of which the one is
 * preferred that says the same in cross-validation.
 * @param metrics that the jobs have in common
 * @param wanted one of them
 */
export function chooseMetric(
  jobs: readonly ComparedJob[],
  metrics: readonly string[],
  wanted?: string | undefined,
): ChosenMetric {
  const [first] = metrics;
  const preferred = wanted ?? first;
  if (preferred === undefined) return chosen(jobs, undefined, null);
  if (isAlike(measuredBy(jobs, preferred))) return chosen(jobs, preferred, null);
  const said = `${preferred} is not the same in all of them: ${measuredWords(measuredBy(jobs, preferred))}`;
  const crossValidated = counterparts(preferred).filter((name) => metrics.includes(name));
  const other = crossValidated.find((name) => isAlike(measuredBy(jobs, name)));
  if (wanted !== undefined || other === undefined) {
    const instead = other === undefined ? '' : `; ${other} can be compared`;
    return chosen(jobs, preferred, `${said}${instead}`);
  }
  return chosen(jobs, other, `${said}; compared by ${other} instead`);
}

function chosen(
  jobs: readonly ComparedJob[],
  metric: string | undefined,
  warning: string | null,
): ChosenMetric {
  const measured = metric === undefined ? jobs.map(() => []) : measuredBy(jobs, metric);
  const mode = metric === undefined ? null : modeOf(jobs, metric);
  return { metric, mode, measured, isAlike: isAlike(measured), warning };
}

/** Which end of a metric is better: as the first job has it that ranks by it, and shows which. */
function modeOf(jobs: readonly ComparedJob[], metric: string): 'min' | 'max' {
  const ranked = jobs
    .filter(({ job }) => rankMetricOf(job.aggregate) === metric)
    .map(({ job }) => job.aggregate.ranking.flatMap((entry) => metricIn(entry, metric) ?? []));
  return rankModeIn(ranked.find((values) => values[0] !== values.at(-1)) ?? [], metric);
}

/** By job, on what its tasks measured a metric. */
const measuredBy = (jobs: readonly ComparedJob[], metric: string): MeasuredOn[][] =>
  jobs.map(({ results }) => {
    const kinds = results.map((result) => measuredOn(result, metric)).filter((kind) => kind !== null);
    return [...new Set(kinds)].sort();
  });

/** Of a job that does not say on what it measured, nothing can be held against it. */
const isAlike = (measured: readonly (readonly MeasuredOn[])[]): boolean =>
  new Set(measured.filter((kinds) => kinds.length > 0).map((kinds) => kinds.join())).size < 2;

const measuredWords = (measured: readonly (readonly MeasuredOn[])[]): string =>
  measured
    .flatMap((kinds, place) => (kinds.length === 0 ? [] : [`${letter(place)} of ${kinds.join(' and ')}`]))
    .join(', ');

/** `A`, `B` and so on, for as many jobs as are compared. */
export const letter = (place: number): string => String.fromCharCode(65 + place);

/** A pipeline on a dataset, in each of several jobs. */
export interface ComparedRow {
  pipeline: string;
  dataset: string;
  /** By job; null where it has none. */
  values: (number | null)[];
}

/** Rankings side by side: what is called the same stands in one row, the row with the best value first. */
export function sideBySide(jobs: readonly ComparedJob[], metric: string): ComparedRow[] {
  const rows = new Map<string, ComparedRow>();
  const mode = modeOf(jobs, metric);
  const better = betterBy(mode);
  for (const [place, { job }] of jobs.entries()) {
    for (const entry of job.aggregate.ranking) {
      const value = metricIn(entry, metric);
      const row = rowOf(rows, entry, jobs.length);
      const known = row.values[place] ?? null;
      // The same pipeline may stand in a job several times.
      if (value !== null && (known === null || better(value, known))) row.values[place] = value;
    }
  }
  const best = ({ values }: ComparedRow) => bestOf(values, mode);
  return [...rows.values()].sort((a, b) => {
    const [one, other] = [best(a), best(b)];
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return better(one, other) ? -1 : Number(better(other, one));
  });
}

function rowOf(rows: Map<string, ComparedRow>, entry: RankingEntry, jobs: number): ComparedRow {
  const pipeline = entry.pipeline_steps ?? entry.pipeline;
  const key = JSON.stringify([pipeline, entry.dataset]);
  const row = rows.get(key) ?? { pipeline, dataset: entry.dataset, values: Array(jobs).fill(null) };
  rows.set(key, row);
  return row;
}

/** The best of several values; null where there is none. */
export function bestOf(values: readonly (number | null)[], mode: 'min' | 'max'): number | null {
  const better = betterBy(mode);
  return values.reduce(
    (best, value) => (value !== null && (best === null || better(value, best)) ? value : best),
    null,
  );
}

/** The best of a row; null where fewer than two are set against each other: one alone is better than none. */
export const winnerOf = ({ values }: ComparedRow, { mode, isAlike }: Winning): number | null =>
  isAlike && mode && values.filter((value) => value !== null).length > 1 ? bestOf(values, mode) : null;

type Winning = Pick<ChosenMetric, 'mode' | 'isAlike'>;

const betterBy = (mode: 'min' | 'max') => (a: number, b: number) => (mode === 'min' ? a < b : a > b);

/** The best of a job by a metric, which need not be the one by which it ranks. */
export const bestOfJob = ({ job }: ComparedJob, { metric, mode }: ChosenMetric): number | null =>
  metric === undefined || mode === null
    ? null
    : bestOf(
        job.aggregate.ranking.map((entry) => metricIn(entry, metric)),
        mode,
      );
