import { sgg } from 'ml-savitzky-golay-generalized';
import { InputError } from '../../errors.ts';

/** Settings of a Savitzky-Golay filter: window in points, spacing of the points taken as 1. */
export interface SavitzkyGolay {
  name: 'savitzky_golay';
  window: number;
  polynomial: number;
  derivative: number;
}

/** A preprocessing step as a pipeline names it. */
export type PreprocessStep =
  | { name: 'snv' }
  | { name: 'msc' }
  | SavitzkyGolay
  | { name: 'standardize' }
  | { name: 'center' };

/** A step with what it learnt from training rows; plain data, so that it can be stored as JSON. */
export type FittedStep =
  | { name: 'snv' }
  | { name: 'msc'; reference: number[] }
  | SavitzkyGolay
  | { name: 'standardize'; mean: number[]; deviation: number[] }
  | { name: 'center'; mean: number[] };

// Values that are all the same differ from their mean by rounding: relative to them, less than this.
const ROUNDING = 1e-13;

/** Steps that treat each row by itself: nothing is learnt, so they need not be repeated in every fold. */
export function isRowWise(step: PreprocessStep): step is { name: 'snv' } | SavitzkyGolay {
  return step.name === 'snv' || step.name === 'savitzky_golay';
}

function sumColumns(rows: readonly number[][], term: (value: number, column: number) => number): number[] {
  const sums = new Array<number>(rows[0]?.length ?? 0).fill(0);
  for (const row of rows) {
    for (let j = 0; j < sums.length; j++) sums[j] = (sums[j] as number) + term(row[j] as number, j);
  }
  return sums;
}

function columnMeans(rows: readonly number[][]): number[] {
  return sumColumns(rows, (value) => value).map((sum) => sum / rows.length);
}

function columnDeviations(rows: readonly number[][], mean: readonly number[]): number[] {
  const squares = sumColumns(rows, (value, j) => (value - (mean[j] as number)) ** 2);
  // A constant column stays at zero instead of becoming NaN: it holds no information either way.
  return squares.map((sum, j) => {
    const deviation = Math.sqrt(sum / (rows.length - 1));
    return deviation > ROUNDING * Math.abs(mean[j] as number) ? deviation : 1;
  });
}

const average = (row: readonly number[]): number => row.reduce((sum, value) => sum + value, 0) / row.length;

/**
 * Learns what a step needs from training rows, and only from them.
 *
 * @param rows training rows, already treated by the steps before
 */
export function fitStep(step: PreprocessStep, rows: readonly number[][]): FittedStep {
  if (step.name === 'msc') return { name: 'msc', reference: columnMeans(rows) };
  if (step.name === 'center') return { name: 'center', mean: columnMeans(rows) };
  if (step.name !== 'standardize') return step;
  const mean = columnMeans(rows);
  return { name: 'standardize', mean, deviation: columnDeviations(rows, mean) };
}

function standardNormalVariate(row: readonly number[], where: string): number[] {
  const mean = average(row);
  const spread = Math.sqrt(row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (row.length - 1));
  if (!(spread > ROUNDING * Math.abs(mean))) throw new InputError(`${where}: snv: the spectrum is constant`);
  return row.map((value) => (value - mean) / spread);
}

function scatterCorrected(row: readonly number[], reference: readonly number[], where: string): number[] {
  const mean = average(row);
  const centre = average(reference);
  let product = 0;
  let square = 0;
  for (let j = 0; j < row.length; j++) {
    const offset = (reference[j] as number) - centre;
    product += offset * ((row[j] as number) - mean);
    square += offset * offset;
  }
  const slope = product / square;
  if (!(Math.sqrt(square / row.length) > ROUNDING * Math.abs(centre)))
    throw new InputError(`${where}: msc: the mean spectrum of the training rows is constant`);
  if (!(Math.abs(slope) > 1e-12))
    throw new InputError(`${where}: msc: the spectrum does not follow the mean`);
  const offset = mean - slope * centre;
  return row.map((value) => (value - offset) / slope);
}

function treatRow(step: FittedStep, row: number[], where: string): number[] {
  switch (step.name) {
    case 'snv':
      return standardNormalVariate(row, where);
    case 'msc':
      return scatterCorrected(row, step.reference, where);
    case 'savitzky_golay': {
      const { window: windowSize, polynomial, derivative } = step;
      return Array.from(sgg(row, 1, { windowSize, polynomial, derivative }));
    }
    case 'standardize':
      return row.map((value, j) => (value - (step.mean[j] as number)) / (step.deviation[j] as number));
    case 'center':
      return row.map((value, j) => value - (step.mean[j] as number));
  }
}

/**
 * Applies a fitted step to rows.
 *
 * snv and standardize divide by the standard deviation with n - 1. msc fits row = a + b * reference by least
 * squares and returns (row - a) / b.
 *
 * @param source how messages call the rows, e.g. `train_x.csv`
 * @throws InputError naming source and row if a row cannot be treated
 */
export function applyStep(step: FittedStep, rows: readonly number[][], source: string): number[][] {
  return rows.map((row, i) => treatRow(step, row, `${source}: data row ${i + 1}`));
}

/** Fits steps one after the other on training rows; returns the fitted steps and the treated rows. */
export function fitSteps(
  steps: readonly PreprocessStep[],
  rows: number[][],
  source: string,
): { fitted: FittedStep[]; rows: number[][] } {
  let treated = rows;
  const fitted = steps.map((step) => {
    const learnt = fitStep(step, treated);
    treated = applyStep(learnt, treated, source);
    return learnt;
  });
  return { fitted, rows: treated };
}

/** Applies fitted steps one after the other. */
export function applySteps(steps: readonly FittedStep[], rows: number[][], source: string): number[][] {
  return steps.reduce((treated, step) => applyStep(step, treated, source), rows);
}
