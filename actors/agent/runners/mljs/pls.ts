import { Matrix } from 'ml-matrix';
import { PLS } from 'ml-pls';
import { InputFault } from './fault.ts';

/** Linear models y = intercept + x · coefficients; entry k - 1 is the model with k components. */
export interface PlsFit {
  coefficients: number[][];
  intercepts: number[];
}

// Both apply to data scaled to norm 1: residuals below the first are rounding of an exact fit, components
// that capture less than the second are rounding of exhausted spectra.
const EXACT_FIT = 1e-13;
const EXHAUSTED = 1e-11;
// Values that are all the same differ from their mean by rounding: relative to them, less than this.
const ROUNDING = 1e-13;

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

const norm = (rows: readonly number[][]): number => {
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

/**
 * Fits PLS regressions with 1 to `components` components, centred and unscaled, from one decomposition.
 *
 * The scores and loadings are those of ml-pls. Its own predictions are not used: it multiplies P · B · Qᵀ,
 * which equals the PLS coefficients W (PᵀW)⁻¹ B Qᵀ only by chance, and scales predictions by the deviation
 * of y even when told not to scale. PᵀW is triangular with ones on its diagonal, so the coefficients of k
 * components are those of k - 1 plus one more term. ml-pls compares with absolute tolerances, hence the data
 * are scaled as a whole to norm 1: derivative spectra can be smaller than its default tolerance.
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
  const xMean = (x[0] as number[]).map((_, j) => mean(x.map((row) => row[j] as number)));
  const yMean = mean(y);
  const xc = x.map((row) => row.map((value, j) => value - (xMean[j] as number)));
  const yc = y.map((value) => [value - yMean]);
  const xNorm = norm(xc);
  const yNorm = norm(yc);
  if (!Number.isFinite(xNorm) || !Number.isFinite(yNorm)) {
    throw new InputFault(`${where}: pls: values are too large to calculate with`);
  }
  if (!(xNorm > ROUNDING * norm(x)))
    throw new InputFault(`${where}: pls: the spectra do not differ from one another`);

  const fit: PlsFit = { coefficients: [], intercepts: [] };
  let beta = xMean.map(() => 0);
  const rotations: number[][] = [];
  const factors =
    yNorm > ROUNDING * norm([y as number[]]) ? decompose(xc, xNorm, yc, yNorm, components) : null;
  const found = factors?.B?.rows ?? 0;
  for (let k = 0; k < components; k++) {
    if (factors && k < found) {
      const captured = (factors.T as Matrix).getColumnVector(k).norm();
      if (!(captured > EXHAUSTED)) {
        throw new InputFault(`${where}: pls: ${components} components asked for, the spectra hold only ${k}`);
      }
      const rotation = (factors.W as Matrix).getColumn(k);
      const weight = rotation.slice();
      rotations.forEach((earlier, j) => {
        const overlap = dot((factors.P as Matrix).getColumn(j), weight);
        for (let i = 0; i < rotation.length; i++)
          rotation[i] = (rotation[i] as number) - overlap * (earlier[i] as number);
      });
      rotations.push(rotation);
      const gain = ((factors.B as Matrix).get(k, k) * (factors.Q as Matrix).get(0, k) * yNorm) / xNorm;
      beta = beta.map((value, i) => value + gain * (rotation[i] as number));
    }
    fit.coefficients.push(beta);
    fit.intercepts.push(yMean - dot(xMean, beta));
  }
  return fit;
}

function decompose(xc: number[][], xNorm: number, yc: number[][], yNorm: number, latentVectors: number): PLS {
  const pls = new PLS({ latentVectors, scale: false, tolerance: EXACT_FIT }, {});
  // With scale off, ml-pls deflates the matrices in place: these are copies already.
  pls.train(new Matrix(xc).div(xNorm), new Matrix(yc).div(yNorm));
  return pls;
}
