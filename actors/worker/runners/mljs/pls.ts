import { InputError } from '../../errors.ts';

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

const norm = (values: Float64Array): number => Math.sqrt(dot(values, values));

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

/** The prediction of a linear model for one row. */
export function predictRow(
  row: readonly number[],
  coefficients: readonly number[],
  intercept: number,
): number {
  let sum = 0;
  for (let i = 0; i < row.length; i++) sum += (row[i] as number) * (coefficients[i] as number);
  return intercept + sum;
}

/** Takes so many times `b` from `a`, in place. */
function subtract(a: Float64Array, factor: number, b: Float64Array): void {
  for (let i = 0; i < a.length; i++) a[i] = (a[i] as number) - factor * (b[i] as number);
}

/** Rows in one piece of memory: a process that computes for a fraction of a second has no time to warm up for less. */
class Matrix {
  readonly values: Float64Array;
  readonly rows: Float64Array[];

  constructor(rows: readonly (readonly number[])[]) {
    const width = rows[0]?.length ?? 0;
    this.values = new Float64Array(rows.length * width);
    this.rows = rows.map((row, i) => {
      const mine = this.values.subarray(i * width, (i + 1) * width);
      for (let j = 0; j < width; j++) mine[j] = row[j] as number;
      return mine;
    });
  }

  /** The rows, each times its factor, added up. */
  sum(factors: Float64Array): Float64Array {
    const width = this.rows[0]?.length ?? 0;
    const sum = new Float64Array(width);
    for (let i = 0; i < factors.length; i++) {
      const factor = factors[i] as number;
      const row = this.rows[i] as Float64Array;
      for (let j = 0; j < width; j++) sum[j] = (sum[j] as number) + factor * (row[j] as number);
    }
    return sum;
  }
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
 * @throws InputError if the spectra do not vary, hold too large values or have fewer independent components
 */
export function fitPls(
  x: readonly number[][],
  y: readonly number[],
  components: number,
  where: string,
): PlsFit {
  const rest = new Matrix(x);
  const ones = new Float64Array(x.length).fill(1);
  const size = norm(rest.values);
  const xMean = rest.sum(ones).map((sum) => sum / x.length);
  const yMean = mean(y);
  for (const row of rest.rows) subtract(row, 1, xMean);
  const yRest = Float64Array.from(y, (value) => value - yMean);
  const xNorm = norm(rest.values);
  const yNorm = norm(yRest);
  if (!Number.isFinite(xNorm) || !Number.isFinite(yNorm)) {
    throw new InputError(`${where}: pls: values are too large to calculate with`);
  }
  if (!(xNorm > ROUNDING * size))
    throw new InputError(`${where}: pls: the spectra do not differ from one another`);

  const fit: PlsFit = { coefficients: [], intercepts: [] };
  const beta = new Float64Array(xMean.length);
  const found: { loadings: Float64Array; rotation: Float64Array }[] = [];
  const varies = yNorm > ROUNDING * norm(Float64Array.from(y));
  for (let k = 0; k < components; k++) {
    if (varies && norm(yRest) > EXACT_FIT * yNorm) {
      const direction = rest.sum(yRest);
      const length = norm(direction);
      const weights = direction.map((value) => value / length);
      const scores = Float64Array.from(rest.rows, (row) => dot(row, weights));
      const squared = dot(scores, scores);
      const loadings = rest.sum(scores).map((value) => value / squared);
      // Nothing is left, not even rounding, where these are no numbers.
      if (!(Math.sqrt(squared) * norm(loadings) > EXHAUSTED * xNorm)) {
        throw new InputError(`${where}: pls: ${components} components asked for, the spectra hold only ${k}`);
      }
      const rotation = weights.slice();
      for (const earlier of found) subtract(rotation, dot(earlier.loadings, weights), earlier.rotation);
      found.push({ loadings, rotation });
      const gain = dot(yRest, scores) / squared;
      subtract(beta, -gain, rotation);
      for (const [i, row] of rest.rows.entries()) subtract(row, scores[i] as number, loadings);
      subtract(yRest, gain, scores);
    }
    fit.coefficients.push([...beta]);
    fit.intercepts.push(yMean - dot(xMean, beta));
  }
  return fit;
}
