import { InputFault } from './fault.ts';

/** Linear models y = intercept + x · coefficients; entry k - 1 is the model with k components. */
export interface PlsFit {
  coefficients: number[][];
  intercepts: number[];
}

// Both are relative to the norm of the centred data: residuals below the first are rounding of an exact fit,
// components that capture less than the second are rounding of exhausted spectra.
const EXACT_FIT = 1e-13;
const EXHAUSTED = 1e-11;
// Values that are all the same differ from their mean by rounding: relative to them, less than this.
const ROUNDING = 1e-13;

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

const norm = (rows: readonly (readonly number[])[]): number => {
  let sum = 0;
  for (const row of rows) for (const value of row) sum += value * value;
  return Math.sqrt(sum);
};

const dot = (a: readonly number[], b: readonly number[]): number => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
};

/** The prediction of a linear model for one row. */
export function predictRow(
  row: readonly number[],
  coefficients: readonly number[],
  intercept: number,
): number {
  return intercept + dot(row, coefficients);
}

/** The rows, each times its factor, added up. */
function sumOfRows(rows: readonly number[][], factors: readonly number[]): number[] {
  const sum = new Array<number>((rows[0] as number[]).length).fill(0);
  rows.forEach((row, i) => {
    const factor = factors[i] as number;
    for (let j = 0; j < sum.length; j++) sum[j] = (sum[j] as number) + factor * (row[j] as number);
  });
  return sum;
}

/** Takes so many times `b` from `a`, in place. */
function subtract(a: number[], factor: number, b: readonly number[]): void {
  for (let i = 0; i < a.length; i++) a[i] = (a[i] as number) - factor * (b[i] as number);
}

/**
 * Fits PLS regressions with 1 to `components` components, centred and unscaled, from one decomposition.
 *
 * For a single y NIPALS needs no iteration: the weights of a component are w = Xᵀy at length 1, its scores t = Xw, its
 * loadings p = Xᵀt / tᵀt, and X and y go on without what t explains of them (Wold, Sjöström and Eriksson 2001,
 * doi:10.1016/S0169-7439(01)00155-1). The coefficients are W (PᵀW)⁻¹ b with b = yᵀt / tᵀt. PᵀW is triangular with ones
 * on its diagonal, so those of k components are those of k - 1 plus one more term. ml-pls gives the same, at ten times
 * the cost: it copies each matrix at each step.
 *
 * If y is fitted exactly by fewer components, the further models repeat the last one.
 *
 * @param x training rows (not changed)
 * @param y reference value of each row
 * @param components largest number of components, at most min(rows - 1, columns)
 * @param where prefix of messages
 * @throws InputFault if the spectra do not vary, hold too large values or have fewer independent components
 */
export function fitPls(
  x: readonly number[][],
  y: readonly number[],
  components: number,
  where: string,
): PlsFit {
  const ones = x.map(() => 1);
  const xMean = sumOfRows(x, ones).map((sum) => sum / x.length);
  const yMean = mean(y);
  const xRest = x.map((row) => row.map((value, j) => value - (xMean[j] as number)));
  const yRest = y.map((value) => value - yMean);
  const xNorm = norm(xRest);
  const yNorm = norm([yRest]);
  if (!Number.isFinite(xNorm) || !Number.isFinite(yNorm)) {
    throw new InputFault(`${where}: pls: values are too large to calculate with`);
  }
  if (!(xNorm > ROUNDING * norm(x)))
    throw new InputFault(`${where}: pls: the spectra do not differ from one another`);

  const fit: PlsFit = { coefficients: [], intercepts: [] };
  let beta = xMean.map(() => 0);
  const found: { loadings: number[]; rotation: number[] }[] = [];
  const varies = yNorm > ROUNDING * norm([y]);
  for (let k = 0; k < components; k++) {
    if (varies && norm([yRest]) > EXACT_FIT * yNorm) {
      const direction = sumOfRows(xRest, yRest);
      const length = norm([direction]);
      const weights = direction.map((value) => value / length);
      const scores = xRest.map((row) => dot(row, weights));
      const squared = dot(scores, scores);
      const loadings = sumOfRows(xRest, scores).map((value) => value / squared);
      // Nothing is left, not even rounding, where these are no numbers.
      if (!(Math.sqrt(squared) * norm([loadings]) > EXHAUSTED * xNorm)) {
        throw new InputFault(`${where}: pls: ${components} components asked for, the spectra hold only ${k}`);
      }
      const rotation = weights.slice();
      for (const earlier of found) subtract(rotation, dot(earlier.loadings, weights), earlier.rotation);
      found.push({ loadings, rotation });
      const gain = dot(yRest, scores) / squared;
      beta = beta.map((value, i) => value + gain * (rotation[i] as number));
      for (const [i, row] of xRest.entries()) subtract(row, scores[i] as number, loadings);
      subtract(yRest, gain, scores);
    }
    fit.coefficients.push(beta);
    fit.intercepts.push(yMean - dot(xMean, beta));
  }
  return fit;
}
