import type { Aggregate, RankingEntry } from '../schema/views.ts';
import { rankModeIn } from './standing.ts';

/** Metrics that people look for beside the one that ranks, in this order; those of a prediction have no prefix. */
const WANTED = [
  ...['rmse', 'r2', 'mae', 'accuracy'].flatMap((name) => [`best_${name}`, `cv_${name}`]),
  ...['best_score', 'cv_best_score', 'components'],
  ...['rmse', 'r2', 'mae', 'bias'],
];
const OWN = new Set(['task_id', 'dataset', 'pipeline', 'pipeline_steps', 'metrics']);

/** The metric that a job ranks by; servers of earlier versions say it by the entries alone. */
export function rankMetricOf({ rank_metric, ranking }: Aggregate): string {
  return rank_metric ?? Object.keys(ranking[0] ?? {}).find((key) => !OWN.has(key)) ?? 'metric';
}

/** A finite number that an entry has under a metric's name, or null. */
export function metricIn(entry: RankingEntry, metric: string): number | null {
  const own = OWN.has(metric) ? undefined : (entry as Record<string, unknown>)[metric];
  const value = own ?? entry.metrics[metric];
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/**
 * The metrics that a ranking shows: the one that ranks, those that people look for, and the others as they come, as
 * far as some entry has a number for them. One that says the same as another in every row is not repeated.
 */
export function shownMetrics(entries: readonly RankingEntry[], rankMetric: string, most: number): string[] {
  const reported = entries.flatMap(({ metrics }) => Object.keys(metrics));
  const shown = [rankMetric];
  for (const metric of new Set([...WANTED, ...reported])) {
    if (shown.length >= most) break;
    if (shown.includes(metric)) continue;
    const values = entries.map((entry) => metricIn(entry, metric));
    if (values.every((value) => value === null)) continue;
    const isSame = (other: string) => entries.every((entry, i) => metricIn(entry, other) === values[i]);
    if (metric === 'components' || !shown.some(isSame)) shown.push(metric);
  }
  return shown;
}

/** Significant digits, and decimals at most. */
const DIGITS = 4;
const DECIMALS = 6;

/**
 * The numbers of a column, all with the same decimals, so that they can be compared by eye: as many as give the
 * smallest four significant digits. Whole numbers stay whole; what decimals cannot show has an exponent.
 * @param none in the place of null
 */
export function aligned(values: readonly (number | null)[], none: string): string[] {
  const numbers = values.filter((value) => value !== null);
  const isWhole = numbers.every((value) => Number.isInteger(value) && Math.abs(value) < 1e9);
  const sizes = numbers.filter((value) => value !== 0).map(Math.abs);
  const least = Math.floor(Math.log10(Math.min(...sizes)));
  const decimals = isWhole ? 0 : Math.min(DECIMALS, Math.max(0, DIGITS - 1 - least));
  const written = (value: number) => {
    const size = Math.abs(value);
    const isSmall = size !== 0 && size < 10 ** (1 - DECIMALS);
    return isSmall || size >= 1e9 ? value.toExponential(DIGITS - 1) : value.toFixed(decimals);
  };
  return values.map((value) => (value === null ? none : written(value)));
}

/**
 * A sentence where the best by validation is not the best by cross-validation, or the other way round; else null.
 * @param name of a task, for people
 */
export function otherWinner(
  entries: readonly RankingEntry[],
  rankMetric: string,
  name: (entry: RankingEntry) => string,
): string | null {
  const [first] = entries;
  const ranked = entries.flatMap((entry) => metricIn(entry, rankMetric) ?? []);
  for (const metric of counterparts(rankMetric)) {
    const firsts = first && metricIn(first, metric);
    if (!first || firsts === null || firsts === undefined) continue;
    const isBetter = (a: number, b: number) => (rankModeIn(ranked, metric) === 'min' ? a < b : a > b);
    let best = { entry: first, value: firsts };
    for (const entry of entries) {
      const value = metricIn(entry, rankMetric) === null ? null : metricIn(entry, metric);
      if (value !== null && isBetter(value, best.value)) best = { entry, value };
    }
    if (best.entry === first) return null;
    const [there, here] = aligned([best.value, firsts], '');
    return `the best by ${rankMetric} is not the best by ${metric}: there it is ${name(best.entry)} with ${there}, against ${here}`;
  }
  return null;
}

/** The same metric, measured the other way. */
export function counterparts(metric: string): string[] {
  if (metric.startsWith('cv_')) return [`best_${metric.slice(3)}`, metric.slice(3)];
  return metric.startsWith('best_') ? [`cv_${metric.slice(5)}`, `cv_${metric}`] : [`cv_${metric}`];
}
