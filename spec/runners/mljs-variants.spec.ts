import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { expandPipeline } from '../../actors/worker/runners/mljs/expand.ts';
import { datasetOf, GASOLINE, madeUp, runHere, scratch, taskOf } from './mljs-support.ts';

const RANGE = { from: 1, to: 8 };
const steps = (pls: unknown, ...others: unknown[]) => [...others, { pls: { components: pls } }];

/** What a job of variants comes to: the best of its variants by cross-validation, refitted. */
function bySelection(pipeline: unknown, dataset: string, params: Record<string, unknown>) {
  const { path } = taskOf({ pipeline, dataset }).pipeline as { path: string };
  const variants = expandPipeline(path, 10_000).map((text) => JSON.parse(text) as unknown);
  const explored = variants.map((variant) =>
    runHere({
      pipeline: variant,
      dataset,
      params: { ...params, refit: false },
      outputs: { export_best_model: false },
    }),
  );
  const values = explored.map(({ metrics }) => metrics.cv_rmse as number);
  const best = values.indexOf(Math.min(...values));
  return { values, ...runHere({ pipeline: variants[best], dataset, params: { ...params, refit: true } }) };
}

const made = madeUp(60, 25);
const csv = (rows: number[][]) => [rows[0]?.map((_, i) => 900 + i) ?? [], ...rows];
const withTest = datasetOf({
  'train_x.csv': csv(made.x.slice(0, 40)),
  'train_y.csv': [['y'] as never, ...made.y.slice(0, 40).map((y) => [y])],
  'test_x.csv': csv(made.x.slice(40)),
  'test_y.csv': [['y'] as never, ...made.y.slice(40).map((y) => [y])],
});

describe('variants of mljs.run', () => {
  for (const [what, dataset, pipeline] of [
    ['leave-one-out', GASOLINE, steps(RANGE, 'snv', { cross_validation: { leave_one_out: true } })],
    ['shuffled folds', GASOLINE, steps([2, 5, 3], 'msc', { cross_validation: { folds: 5 } })],
    ['the default validation', GASOLINE, steps(RANGE, { savitzky_golay: { window: 7, derivative: 1 } })],
    ['test samples and a step', withTest, steps(RANGE, 'standardize', { cross_validation: { folds: 4 } })],
    ['test samples alone', withTest, steps(RANGE)],
  ] as const) {
    it(`give the same as one run of all of them, to the last digit, by ${what}`, () => {
      const params = { random_state: 11 };
      const one = runHere({ pipeline, dataset, params });
      const selected = bySelection(pipeline, dataset, params);
      assert.deepEqual(selected.metrics, one.metrics);
      const scores = one.extra.component_scores as { rmse: number }[];
      assert.deepEqual(
        selected.values,
        scores.map(({ rmse }) => rmse),
      );
      const [a, b] = [selected, one].map(({ outputDir }) =>
        JSON.parse(readFileSync(`${outputDir}/best_model.json`, 'utf8')),
      );
      assert.deepEqual(a, b);
    });
  }

  it('write no model while they are explored', () => {
    const { metrics, extra, outputDir } = runHere({
      pipeline: steps(3),
      dataset: withTest,
      params: { refit: false },
    });
    assert.equal(extra.model_file, null);
    assert.equal(metrics.best_rmse, metrics.cv_rmse);
    assert.throws(() => readFileSync(`${outputDir}/best_model.json`));
  });

  it('that are more than the limit are refused, with the limit', () => {
    const { path } = taskOf({ pipeline: steps(RANGE), dataset: scratch() }).pipeline as { path: string };
    assert.throws(() => expandPipeline(path, 7), /pls: 8 component counts; at most 7 are taken/);
  });
});
