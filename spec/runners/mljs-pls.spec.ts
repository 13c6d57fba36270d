import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inverse, Matrix, solve } from 'ml-matrix';
import { PLS } from 'ml-pls';
import { fitPls, predictRow } from '../../actors/worker/runners/mljs/pls.ts';
import { madeUp } from './mljs-support.ts';

const near = (actual: readonly number[], expected: readonly number[], tolerance = 1e-9): void => {
  assert.equal(actual.length, expected.length);
  const size = Math.max(...expected.map(Math.abs));
  actual.forEach((value, i) => {
    const difference = Math.abs(value - (expected[i] as number));
    assert.ok(difference <= tolerance * size, `entry ${i}: ${value} instead of ${expected[i]}`);
  });
};

/** Centred copies, as PLS sees them. */
function centred(x: number[][], y: number[]): { xc: Matrix; yc: Matrix } {
  const xc = new Matrix(x).center('column');
  return { xc, yc: Matrix.columnVector(y).center('column') };
}

/** The definition of PLS: least squares within the span of X'y, (X'X)X'y, ..., without any deflation. */
function krylovCoefficients(x: number[][], y: number[], components: number): number[] {
  const { xc, yc } = centred(x, y);
  let direction = xc.transpose().mmul(yc);
  const basis = Matrix.zeros(xc.columns, components);
  for (let k = 0; k < components; k++) {
    direction = direction.div(direction.norm());
    basis.setColumn(k, direction.to1DArray());
    direction = xc.transpose().mmul(xc.mmul(direction));
  }
  return basis.mmul(solve(xc.mmul(basis), yc, true)).to1DArray();
}

describe('pls', () => {
  const { x, y } = madeUp(20, 8);
  const fit = fitPls(x, y, 5, 'data');

  it('gives for every component count the coefficients of a separate fit with just that count', () => {
    for (const [i, coefficients] of fit.coefficients.entries()) {
      const { xc, yc } = centred(x, y);
      const pls = new PLS({ latentVectors: i + 1, scale: false, tolerance: 1e-13 }, {});
      pls.train(xc, yc);
      const { W, P, B, Q } = pls as { W: Matrix; P: Matrix; B: Matrix; Q: Matrix };
      const separate = W.mmul(inverse(P.transpose().mmul(W)))
        .mmul(B)
        .mmul(Q.transpose());
      near(coefficients, separate.to1DArray());
    }
  });

  it('gives the least squares solution in the Krylov space that defines it', () => {
    for (const [i, coefficients] of fit.coefficients.entries()) {
      near(coefficients, krylovCoefficients(x, y, i + 1), 1e-7);
    }
  });

  it('is ordinary least squares with as many components as columns', () => {
    const { xc, yc } = centred(x, y);
    near(fitPls(x, y, 8, 'data').coefficients[7] as number[], solve(xc, yc, true).to1DArray(), 1e-7);
  });

  it('predicts the mean of y for the mean spectrum', () => {
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const spectrum = (x[0] as number[]).map((_, j) => mean(x.map((row) => row[j] as number)));
    fit.coefficients.forEach((coefficients, i) => {
      near([predictRow(spectrum, coefficients, fit.intercepts[i] as number)], [mean(y)]);
    });
  });

  it('does not change the rows it is given', () => {
    const before = structuredClone({ x, y });
    fitPls(x, y, 3, 'data');
    assert.deepEqual({ x, y }, before);
  });

  it('is the same for very small values, as second derivatives have', () => {
    const small = x.map((row) => row.map((value) => value * 1e-9));
    const scaled = fitPls(small, y, 5, 'data');
    near(
      (scaled.coefficients[4] as number[]).map((value) => value * 1e-9),
      fit.coefficients[4] as number[],
    );
  });

  it('repeats the last model where fewer components fit exactly', () => {
    const line = [[1], [2], [3], [4]].map(([t]) => [t as number, 2 * (t as number), 3 * (t as number)]);
    const { coefficients, intercepts } = fitPls(line, [12, 14, 16, 18], 3, 'data');
    for (const i of [0, 1, 2]) {
      const predicted = predictRow([5, 10, 15], coefficients[i] as number[], intercepts[i] as number);
      near([predicted], [20]);
    }
  });

  it('predicts a y that does not vary, also where its mean is rounded', () => {
    for (const value of [5, 0.1]) {
      const { coefficients, intercepts } = fitPls(x.slice(0, 3), [value, value, value], 2, 'data');
      assert.deepEqual(coefficients[1], new Array(8).fill(0));
      near([intercepts[1] as number], [value]);
    }
  });

  it('refuses more components than the spectra hold', () => {
    const flat = x.map(([a, b]) => [a, b, (a as number) + (b as number), (a as number) - (b as number)]);
    assert.doesNotThrow(() => fitPls(flat as number[][], y, 2, 'data'));
    assert.throws(
      () => fitPls(flat as number[][], y, 3, 'data'),
      /^InputError: data: pls: 3 .* hold only 2$/,
    );
  });

  it('refuses spectra that do not differ and values too large to square', () => {
    for (const value of [2, 0.1]) {
      const same = [[value], [value], [value]];
      assert.throws(() => fitPls(same, [1, 2, 4], 1, 'data'), /data: pls: .*do not differ/);
    }
    assert.throws(() => fitPls([[1e200], [2e200]], [1, 2], 1, 'data'), /data: pls: .*too large/);
  });
});
