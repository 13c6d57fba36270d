import { counterparts } from '../ranking/table.ts';

/** The samples that an error is about. */
export type MeasuredOn = 'cross-validation' | 'test samples';

/**
 * On what a task measured one of its metrics: `cv_*` in cross-validation; of `best_*` the runner says it
 * (`extra.validation` of mljs), or it can be told from the same metric of cross-validation, which is another number
 * where `best_*` is of test samples.
 * @returns null where the result does not say
 */
export function measuredOn(result: Record<string, unknown>, metric: string): MeasuredOn | null {
  if (metric.startsWith('cv_')) return 'cross-validation';
  if (!metric.startsWith('best_')) return null;
  const { extra, metrics } = result as { extra?: unknown; metrics?: unknown };
  const { validation } = objectOf(extra);
  if (typeof validation === 'string') return validation === 'test_set' ? 'test samples' : 'cross-validation';
  const numbers = objectOf(metrics);
  const best = numbers[metric];
  const inCv = counterparts(metric)
    .map((name) => numbers[name])
    .find((value) => typeof value === 'number');
  if (typeof best !== 'number' || inCv === undefined) return null;
  return best === inCv ? 'cross-validation' : 'test samples';
}

const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
