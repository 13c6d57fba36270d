import type { Samples } from './dataset.ts';
import type { Fold } from './folds.ts';
import { type Scores, score } from './metrics.ts';
import { fitPls, predictRow } from './pls.ts';
import { applySteps, fitSteps, isRowWise, type PreprocessStep } from './preprocess.ts';

/** What is evaluated: preprocessing followed by PLS with each of the component counts. */
export interface Candidates {
  preprocess: PreprocessStep[];
  components: number[];
}

/** Scores of one component count. */
export interface ComponentScores extends Scores {
  components: number;
}

/** The outcome of predicting every row from a model fitted without it. */
export interface Evaluation {
  scores: ComponentScores[];
  /** Scores of predicting the mean of the training rows of each fold: what any model has to beat. */
  baseline: Scores;
  /** Per component count, the prediction of each row in the order of the samples. */
  predictions: number[][];
}

/**
 * Cross-validates candidates. Everything that learns from data is fitted anew in each fold, on the rows that
 * the fold does not hold out; all component counts come from one fit per fold.
 *
 * @param samples training samples
 * @param folds each row held out in exactly one of them
 * @param onFold called after each fold with the number of folds done
 */
export function crossValidate(
  samples: Omit<Samples, 'names'>,
  candidates: Candidates,
  folds: readonly Fold[],
  onFold: (done: number) => void = () => {},
): Evaluation {
  const { preprocess, components } = candidates;
  const learning = preprocess.findIndex((step) => !isRowWise(step));
  const prefix = learning < 0 ? preprocess.length : learning;
  // Row-wise steps at the front give the same rows in every fold.
  const start = fitSteps(preprocess.slice(0, prefix), samples.x, samples.source).rows;
  const rest = preprocess.slice(prefix);
  const largest = Math.max(...components);
  const predictions = components.map(() => new Array<number>(samples.y.length).fill(Number.NaN));
  const means = new Array<number>(samples.y.length).fill(Number.NaN);
  folds.forEach((fold, done) => {
    const source = `${samples.source}, fold ${done + 1}`;
    const pick = <T>(values: readonly T[], rows: readonly number[]): T[] => rows.map((i) => values[i] as T);
    const trained = fitSteps(rest, pick(start, fold.train), source);
    const y = pick(samples.y, fold.train);
    const fit = fitPls(trained.rows, y, largest, source);
    const mean = y.reduce((sum, value) => sum + value, 0) / y.length;
    const rows = applySteps(trained.fitted, pick(start, fold.heldOut), source);
    fold.heldOut.forEach((row, i) => {
      means[row] = mean;
      components.forEach((count, c) => {
        const coefficients = fit.coefficients[count - 1] as number[];
        const predicted = predictRow(rows[i] as number[], coefficients, fit.intercepts[count - 1] as number);
        (predictions[c] as number[])[row] = predicted;
      });
    });
    onFold(done + 1);
  });
  const scores = components.map((count, c) => ({
    components: count,
    ...score(samples.y, predictions[c] as number[]),
  }));
  return { scores, baseline: score(samples.y, means), predictions };
}

/** The scores with the smallest RMSE; of equal ones, those with fewer components. */
export function bestOf(scores: readonly ComponentScores[]): ComponentScores {
  return scores.reduce((best, next) => (next.rmse < best.rmse ? next : best));
}
