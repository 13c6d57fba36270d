import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bestOf, crossValidate } from '../../actors/worker/runners/mljs/evaluate.ts';
import { makeFolds, type Split } from '../../actors/worker/runners/mljs/folds.ts';
import { score } from '../../actors/worker/runners/mljs/metrics.ts';
import { fitPls, predictRow } from '../../actors/worker/runners/mljs/pls.ts';
import type { PreprocessStep } from '../../actors/worker/runners/mljs/preprocess.ts';
import { datasetOf, madeUp, runHere } from './mljs-support.ts';

const kFold = (folds: number, shuffle: boolean, seed: number | null = null): Split => ({
  kind: 'k_fold',
  folds,
  shuffle,
  seed,
});
const heldOut = (rows: number, split: Split, state = 0) =>
  makeFolds(rows, split, state).map((f) => f.heldOut);
const column = (values: number[]): number[][] => values.map((value) => [value]);

describe('folds', () => {
  it('hold out each row once, in sizes that differ by at most one, and fit on all others', () => {
    for (const shuffle of [false, true]) {
      const folds = makeFolds(11, kFold(4, shuffle), 3);
      const rows = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
      const ascending = (values: number[]) => values.sort((a, b) => a - b);
      assert.deepEqual(ascending(folds.flatMap((fold) => fold.heldOut)), rows);
      for (const fold of folds) {
        assert.ok([2, 3].includes(fold.heldOut.length));
        assert.deepEqual(ascending([...fold.train, ...fold.heldOut]), rows);
      }
    }
  });

  it('are contiguous without shuffling, one row each for leave-one-out', () => {
    assert.deepEqual(heldOut(6, kFold(3, false)), [
      [0, 1],
      [2, 3],
      [4, 5],
    ]);
    assert.deepEqual(heldOut(3, { kind: 'leave_one_out' }), [[0], [1], [2]]);
  });

  it('are shuffled by random_state, or by the seed of the step if it has one', () => {
    const first = heldOut(30, kFold(3, true), 1);
    assert.notDeepEqual(first, heldOut(30, kFold(3, false)));
    assert.deepEqual(heldOut(30, kFold(3, true), 1), first);
    assert.notDeepEqual(heldOut(30, kFold(3, true), 2), first);
    assert.deepEqual(heldOut(30, kFold(3, true, 1), 2), first);
  });
});

describe('metrics', () => {
  it('are RMSE, R2 and MAE over all rows', () => {
    // Errors 1, -1, 0, 2: squares sum to 6; y has mean 3 and squares about it sum to 10.
    const { rmse, r2, mae } = score([1, 2, 4, 5], [0, 3, 4, 3]);
    assert.equal(rmse, Math.sqrt(6 / 4));
    assert.equal(r2, 1 - 6 / 10);
    assert.equal(mae, 1);
  });

  it('have no R2 where the reference values do not vary', () => {
    assert.equal(score([2, 2], [1, 3]).r2, null);
  });

  it('choose fewer components where RMSE is the same', () => {
    const of = (components: number, rmse: number) => ({ components, rmse, r2: 0, mae: 0 });
    assert.equal(bestOf([of(1, 3), of(2, 1), of(3, 1)]).components, 2);
  });
});

describe('cross-validation', () => {
  const { x, y } = madeUp(12, 6);
  const folds = makeFolds(12, kFold(4, false), 0);
  const predict = (spectra: number[][], values: number[], preprocess: PreprocessStep[]): number[] => {
    const samples = { source: 'train_x.csv', x: spectra, y: values };
    return crossValidate(samples, { preprocess, components: [2] }, folds).predictions[0] as number[];
  };

  it('predicts a row by the model that was fitted without its fold', () => {
    const fit = fitPls(x.slice(3), y.slice(3), 2, 'rows');
    const expected = predictRow(
      x[0] as number[],
      fit.coefficients[1] as number[],
      fit.intercepts[1] as number,
    );
    assert.equal(predict(x, y, [])[0], expected);
  });

  const pipelines: PreprocessStep[][] = [
    [],
    [{ name: 'center' }],
    [{ name: 'standardize' }],
    [{ name: 'msc' }],
    [{ name: 'snv' }, { name: 'standardize' }],
    [{ name: 'msc' }, { name: 'snv' }, { name: 'standardize' }],
  ];
  for (const preprocess of pipelines) {
    const steps = [...preprocess.map((step) => step.name), 'pls'].join(', ');
    const replaced = (rows: readonly number[][], row: number) =>
      rows.map((values, i) => (i === row ? values.map((value, j) => 3 * value + j * j) : values));

    it(`does not let another held-out row influence a prediction: ${steps}`, () => {
      const changedY = y.map((value, i) => (i === 1 ? value + 100 : value));
      const [before, after] = [predict(x, y, preprocess), predict(replaced(x, 1), changedY, preprocess)];
      // Rows 0, 1 and 2 are held out together; equal to the last bit, not nearly.
      assert.equal(after[0], before[0]);
      assert.equal(after[2], before[2]);
      assert.notEqual(after[1], before[1]);
    });

    it(`lets a training row influence a prediction: ${steps}`, () => {
      assert.notEqual(predict(replaced(x, 5), y, preprocess)[0], predict(x, y, preprocess)[0]);
    });
  }

  it('scores all component counts from one pass just as each by itself', () => {
    const samples = { source: 'train_x.csv', x, y };
    const preprocess: PreprocessStep[] = [{ name: 'snv' }];
    const together = crossValidate(samples, { preprocess, components: [1, 2, 4] }, folds);
    const single = [1, 2, 4].map((count) =>
      crossValidate(samples, { preprocess, components: [count] }, folds),
    );
    assert.deepEqual(
      together.scores,
      single.map(({ scores }) => scores[0]),
    );
  });
});

describe('the validation that a pipeline gets', () => {
  const all = madeUp(30, 6);
  const train = { 'train_x.csv': all.x.slice(0, 20), 'train_y.csv': column(all.y.slice(0, 20)) };
  const test = { 'test_x.csv': all.x.slice(20), 'test_y.csv': column(all.y.slice(20)) };
  const alone = datasetOf(train);
  const withTest = datasetOf({ ...train, ...test });
  const folds = { cross_validation: { folds: 5 } };
  const testRmse = (components: number): number => {
    const fit = fitPls(train['train_x.csv'], all.y.slice(0, 20), components, 'rows');
    const model = [fit.coefficients.at(-1) as number[], fit.intercepts.at(-1) as number] as const;
    const predicted = all.x.slice(20).map((row) => predictRow(row, ...model));
    return score(all.y.slice(20), predicted).rmse;
  };

  it('is its cross_validation step; test rows are reported beside it', () => {
    const pipeline = [{ pls: { components: [1, 2] } }, folds];
    const plain = runHere({ pipeline, dataset: alone });
    const { metrics, extra, counts } = runHere({ pipeline, dataset: withTest });
    const { test_rmse, test_r2, test_mae, ...others } = metrics;
    assert.deepEqual(others, plain.metrics);
    assert.deepEqual({ rmse: test_rmse, r2: test_r2, mae: test_mae }, extra.test, 'by which a job may rank');
    assert.equal(extra.validation, 'k_fold');
    assert.equal(plain.extra.test, null);
    assert.equal((extra.test as { rmse: number }).rmse, testRmse(extra.best_components as number));
    assert.equal(counts.num_predictions, 2 * 20 + 10);
  });

  it('is the test rows without such a step, for one component count without any folds', () => {
    const { metrics, extra, counts } = runHere({ pipeline: [{ pls: { components: 2 } }], dataset: withTest });
    assert.equal(metrics.best_rmse, testRmse(2));
    assert.equal(extra.validation, 'test_set');
    assert.equal(extra.components_chosen_by, null);
    assert.equal(counts.num_predictions, 10);
  });

  it('chooses among several counts on training rows even if test rows are scored', () => {
    const pipeline = [{ pls: { components: { from: 1, to: 5 } } }];
    const onTraining = runHere({ pipeline, dataset: alone });
    const { metrics, extra } = runHere({ pipeline, dataset: withTest });
    assert.equal(extra.best_components, onTraining.extra.best_components);
    assert.deepEqual(extra.components_chosen_by, { kind: 'leave_one_out', folds: 20 });
    assert.equal(metrics.best_rmse, testRmse(extra.best_components as number));
  });

  it('is leave-one-out for up to 100 rows and 10 shuffled folds for more', () => {
    const validationOf = (rows: number) => {
      const { x, y } = madeUp(rows, 3);
      const dataset = datasetOf({ 'train_x.csv': x, 'train_y.csv': column(y) });
      const params = { random_state: 5 };
      return runHere({ pipeline: [{ pls: { components: 1 } }], dataset, params }).extra.components_chosen_by;
    };
    assert.deepEqual(validationOf(100), { kind: 'leave_one_out', folds: 100 });
    assert.deepEqual(validationOf(101), { kind: 'k_fold', folds: 10, shuffle: true, seed: 5 });
  });
});
