/** How well predictions agree with the reference values; in the unit of y, r2 without unit. */
export interface Scores {
  /** Root of the mean squared error over all predictions (for held-out rows: RMSEP). */
  rmse: number;
  /** 1 - residual / total sum of squares; null where the reference values do not vary. */
  r2: number | null;
  /** Mean absolute error. */
  mae: number;
}

/**
 * Scores predictions, pooled over all rows (not averaged over folds, so that every row weighs the same).
 *
 * @param actual reference values
 * @param predicted predictions of the same rows
 */
export function score(actual: readonly number[], predicted: readonly number[]): Scores {
  const n = actual.length;
  const mean = actual.reduce((sum, value) => sum + value, 0) / n;
  let squared = 0;
  let absolute = 0;
  let total = 0;
  for (let i = 0; i < n; i++) {
    const error = (actual[i] as number) - (predicted[i] as number);
    squared += error * error;
    absolute += Math.abs(error);
    total += ((actual[i] as number) - mean) ** 2;
  }
  return { rmse: Math.sqrt(squared / n), r2: total > 0 ? 1 - squared / total : null, mae: absolute / n };
}
