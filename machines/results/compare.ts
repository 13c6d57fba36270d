import { rankModeOf } from '../ranking/standing.ts';
import { metricIn, rankMetricOf } from '../ranking/table.ts';
import type { JobView, RankingEntry } from '../schema/views.ts';

/** A job that is compared with others. */
export interface ComparedJob {
  job: JobView;
  /** Its specification as it was submitted. */
  request: string;
  /** Of its library, those that computed its results, such as `mljs 0.1.0`. */
  versions: readonly string[];
}

/** What several jobs report alike, the metric first by which the first of them ranks. */
export function commonMetrics(jobs: readonly ComparedJob[]): string[] {
  const named = jobs.map(({ job: { aggregate } }) => {
    const [first] = aggregate.ranking;
    const own = rankMetricOf(aggregate);
    return [own, ...Object.keys(first?.metrics ?? {}).filter((name) => name !== own)];
  });
  const reported = ({ job: { aggregate } }: ComparedJob, metric: string) =>
    aggregate.ranking.some((entry) => metricIn(entry, metric) !== null);
  return [...new Set(named.flat())].filter((metric) => jobs.every((job) => reported(job, metric)));
}

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
  const better = betterBy(metric);
  for (const [place, { job }] of jobs.entries()) {
    for (const entry of job.aggregate.ranking) {
      const value = metricIn(entry, metric);
      const row = rowOf(rows, entry, jobs.length);
      const known = row.values[place] ?? null;
      // The same pipeline may stand in a job several times.
      if (value !== null && (known === null || better(value, known))) row.values[place] = value;
    }
  }
  const best = ({ values }: ComparedRow) => bestOf(values, metric);
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
export function bestOf(values: readonly (number | null)[], metric: string): number | null {
  const better = betterBy(metric);
  return values.reduce(
    (best, value) => (value !== null && (best === null || better(value, best)) ? value : best),
    null,
  );
}

const betterBy = (metric: string) => (a: number, b: number) => (rankModeOf(metric) === 'min' ? a < b : a > b);

/** The best of a job by a metric, which need not be the one by which it ranks. */
export const bestOfJob = ({ job }: ComparedJob, metric: string): number | null =>
  bestOf(
    job.aggregate.ranking.map((entry) => metricIn(entry, metric)),
    metric,
  );
