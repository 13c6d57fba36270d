import { InputError } from '../../errors.ts';
import type { Split } from './folds.ts';
import { isMapping, type Mapping, readOptions, show, wholeNumber } from './options.ts';
import type { PreprocessStep } from './preprocess.ts';
import { MAX_SEED } from './random.ts';

/** A step of a pipeline file after its options were checked. */
export type ParsedStep =
  | { role: 'preprocess'; step: PreprocessStep }
  | { role: 'regression'; components: number[] }
  | { role: 'validation'; split: Split };

/** Readers of the options of each step, by step name; `where` is the prefix of messages. */
export const STEPS: Record<string, (where: string, options: unknown) => ParsedStep> = {
  snv: (where, options) => withoutOptions(where, options, { name: 'snv' }),
  msc: (where, options) => withoutOptions(where, options, { name: 'msc' }),
  savitzky_golay: savitzkyGolay,
  standardize: (where, options) => withoutOptions(where, options, { name: 'standardize' }),
  center: (where, options) => withoutOptions(where, options, { name: 'center' }),
  pls,
  cross_validation: crossValidation,
};

function withoutOptions(where: string, value: unknown, step: PreprocessStep): ParsedStep {
  readOptions(where, value, []);
  return { role: 'preprocess', step };
}

function savitzkyGolay(where: string, value: unknown): ParsedStep {
  const options = readOptions(where, value, ['window', 'polynomial', 'derivative']);
  const window = wholeNumber(`${where}: window`, options.window, 1);
  if (window % 2 === 0 || window < 5) {
    throw new InputError(`${where}: window must be an odd number of at least 5, got ${window}`);
  }
  // Beyond degree 5 the filter follows the noise; ml-savitzky-golay-generalized warns about it as well.
  const degree = Math.min(5, window - 1);
  const polynomial = wholeNumber(`${where}: polynomial`, options.polynomial ?? 2, 1, degree);
  const derivative = wholeNumber(`${where}: derivative`, options.derivative ?? 0, 0, polynomial);
  return { role: 'preprocess', step: { name: 'savitzky_golay', window, polynomial, derivative } };
}

function pls(where: string, value: unknown): ParsedStep {
  const { components } = readOptions(where, value, ['components']);
  return { role: 'regression', components: componentCounts(where, components) };
}

function componentCounts(where: string, value: unknown): number[] {
  const label = `${where}: components`;
  if (value === undefined || value === null) {
    throw new InputError(`${label} is missing: give a number, a list or {from, to}`);
  }
  if (Array.isArray(value)) {
    if (value.length === 0) throw new InputError(`${label} must not be an empty list`);
    const counts = value.map((count) => wholeNumber(label, count, 1));
    return [...new Set(counts)].sort((a, b) => a - b);
  }
  if (!isMapping(value)) return [wholeNumber(label, value, 1)];
  const range = readOptions(label, value, ['from', 'to']);
  const from = wholeNumber(`${label}: from`, range.from, 1);
  const to = wholeNumber(`${label}: to`, range.to, from, from + 9_999);
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

function flag(where: string, options: Mapping, name: string, fallback: boolean): boolean {
  const value = options[name] ?? fallback;
  if (typeof value === 'boolean') return value;
  throw new InputError(`${where}: ${name} must be true or false, got ${show(value)}`);
}

function crossValidation(where: string, value: unknown): ParsedStep {
  const options = readOptions(where, value, ['folds', 'shuffle', 'seed', 'leave_one_out']);
  if (flag(where, options, 'leave_one_out', false)) {
    const other = ['folds', 'shuffle', 'seed'].find((name) => name in options);
    if (other) throw new InputError(`${where}: leave_one_out and ${other} exclude one another`);
    return { role: 'validation', split: { kind: 'leave_one_out' } };
  }
  if (options.folds === undefined) {
    throw new InputError(`${where}: give either folds or leave_one_out: true`);
  }
  const folds = wholeNumber(`${where}: folds`, options.folds, 2);
  // Files are often sorted by y or by day; contiguous folds would then measure extrapolation.
  const shuffle = flag(where, options, 'shuffle', true);
  const seed = options.seed === undefined ? null : wholeNumber(`${where}: seed`, options.seed, 0, MAX_SEED);
  if (seed !== null && !shuffle) throw new InputError(`${where}: seed has no effect with shuffle: false`);
  return { role: 'validation', split: { kind: 'k_fold', folds, shuffle, seed } };
}
