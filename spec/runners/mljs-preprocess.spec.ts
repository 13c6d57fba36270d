import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  applyStep,
  applySteps,
  fitStep,
  fitSteps,
  type PreprocessStep,
} from '../../actors/worker/runners/mljs/preprocess.ts';

const close = (actual: number[][], expected: number[][]): void => {
  assert.deepEqual(
    actual.map((row) => row.map((value) => Number(value.toFixed(9)) + 0)),
    expected.map((row) => row.map((value) => Number(value.toFixed(9)) + 0)),
  );
};

/** Fits on the rows and treats the same rows. */
const treat = (step: PreprocessStep, rows: number[][]): number[][] =>
  applyStep(fitStep(step, rows), rows, 'rows');

const filter = (window: number, polynomial: number, derivative: number): PreprocessStep => ({
  name: 'savitzky_golay',
  window,
  polynomial,
  derivative,
});

describe('snv', () => {
  it('gives each row mean 0 and standard deviation 1, with n - 1', () => {
    close(treat({ name: 'snv' }, [[1, 2, 3]]), [[-1, 0, 1]]);
    const spread = Math.sqrt(20 / 3);
    close(treat({ name: 'snv' }, [[2, 4, 6, 8]]), [[-3 / spread, -1 / spread, 1 / spread, 3 / spread]]);
  });

  it('removes offset and scale of a spectrum', () => {
    const rows = treat({ name: 'snv' }, [
      [1, 5, 2],
      [12, 20, 14],
    ]);
    close([rows[1] as number[]], [rows[0] as number[]]);
  });

  it('refuses a constant spectrum, naming source and row', () => {
    const rows = [
      [1, 2],
      [3, 3],
    ];
    assert.throws(() => treat({ name: 'snv' }, rows), /^InputError: rows: data row 2: snv: .*constant$/);
    // The mean of three times 0.1 is not 0.1 in binary numbers.
    assert.throws(() => treat({ name: 'snv' }, [[0.1, 0.1, 0.1]]), /snv: the spectrum is constant$/);
  });
});

describe('msc', () => {
  const training = [
    [1, 2, 3],
    [3, 4, 5],
  ];
  const fitted = fitStep({ name: 'msc' }, training);

  it('takes the mean of the training rows as reference', () => {
    assert.deepEqual(fitted, { name: 'msc', reference: [2, 3, 4] });
  });

  it('maps a row that is linear in the reference onto the reference', () => {
    close(applyStep(fitted, [[5, 7, 9]], 'rows'), [[2, 3, 4]]);
  });

  it('subtracts the fitted offset and divides by the fitted slope', () => {
    // Least squares of (1, 3, 2) on (2, 3, 4): slope 0.5, offset 0.5.
    close(applyStep(fitted, [[1, 3, 2]], 'rows'), [[1, 5, 3]]);
  });

  it('refuses a row that does not follow the reference, and a constant reference', () => {
    assert.throws(() => applyStep(fitted, [[1, 0, 1]], 'rows'), /rows: data row 1: msc: .*does not follow/);
    assert.throws(() => treat({ name: 'msc' }, [[4, 4, 4]]), /msc: the mean spectrum .*constant/);
    assert.throws(() => treat({ name: 'msc' }, [[0.1, 0.1, 0.1]]), /msc: the mean spectrum .*constant/);
  });
});

describe('savitzky_golay', () => {
  const impulse = [[0, 0, 0, 0, 35, 0, 0, 0, 0]];

  it('smooths with the weights -3, 12, 17, 12, -3 of 5 points and degree 2', () => {
    const [row] = treat(filter(5, 2, 0), impulse) as [number[]];
    close([row.slice(2, 7)], [[-3, 12, 17, 12, -3]]);
  });

  it('derives with the weights -2 to 2 by 10 of 5 points and degree 2', () => {
    const [row] = treat(filter(5, 2, 1), impulse) as [number[]];
    close([row.slice(2, 7)], [[7, 3.5, 0, -3.5, -7]]);
  });

  it('is exact for a parabola up to both ends, per point of spacing 1', () => {
    const parabola = [[0, 1, 4, 9, 16, 25, 36]];
    close(treat(filter(5, 2, 0), parabola), parabola);
    close(treat(filter(5, 2, 1), parabola), [[0, 2, 4, 6, 8, 10, 12]]);
    close(treat(filter(5, 2, 2), parabola), [[2, 2, 2, 2, 2, 2, 2]]);
  });
});

describe('standardize', () => {
  const training = [
    [1, 10, 5],
    [3, 30, 5],
  ];

  it('gives each column mean 0 and standard deviation 1 with n - 1, a constant column zeros', () => {
    const unit = 1 / Math.SQRT2;
    close(treat({ name: 'standardize' }, training), [
      [-unit, -unit, 0],
      [unit, unit, 0],
    ]);
  });

  it('leaves a constant column near zero even if its mean is rounded', () => {
    close(treat({ name: 'standardize' }, [[0.1], [0.1], [0.1]]), [[0], [0], [0]]);
  });

  it('treats new rows with mean and deviation of the training rows', () => {
    const fitted = fitStep({ name: 'standardize' }, training);
    close(applyStep(fitted, [[4, 20, 7]], 'rows'), [[Math.SQRT2, 0, 2]]);
  });
});

describe('center', () => {
  it('subtracts the column means of the training rows, also from new rows', () => {
    const fitted = fitStep({ name: 'center' }, [
      [1, 10],
      [3, 20],
    ]);
    close(applyStep(fitted, [[1, 10]], 'rows'), [[-1, -5]]);
    close(applyStep(fitted, [[7, 0]], 'rows'), [[5, -15]]);
  });
});

describe('several steps', () => {
  const rows = [
    [1, 2, 6],
    [2, 5, 4],
    [9, 1, 3],
  ];

  it('learn from rows that the steps before have treated', () => {
    const { fitted } = fitSteps([{ name: 'snv' }, { name: 'center' }], rows, 'rows');
    assert.deepEqual(fitted[1], fitStep({ name: 'center' }, treat({ name: 'snv' }, rows)));
  });

  it('treat new rows just as the training rows, which are not changed', () => {
    const before = structuredClone(rows);
    const steps: PreprocessStep[] = [{ name: 'msc' }, { name: 'snv' }, { name: 'standardize' }];
    const { fitted, rows: treated } = fitSteps(steps, rows, 'rows');
    assert.deepEqual(applySteps(fitted, rows, 'rows'), treated);
    assert.notDeepEqual(treated, before);
    assert.deepEqual(rows, before);
  });
});
