import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readDataset } from '../../actors/worker/runners/mljs/dataset.ts';
import { fitModel, loadModel, predictor } from '../../actors/worker/runners/mljs/model.ts';
import type { PreprocessStep } from '../../actors/worker/runners/mljs/preprocess.ts';
import { MODEL_FILE } from '../../actors/worker/runners/mljs/run.ts';
import { datasetOf, GASOLINE, madeUp, runHere, scratch } from './mljs-support.ts';

describe('the exported model', () => {
  const { x, y } = madeUp(25, 9);
  const train = { 'train_x.csv': x.slice(0, 15), 'train_y.csv': y.slice(0, 15).map((value) => [value]) };
  const dataset = datasetOf(train);
  const unseen = x.slice(15);
  const steps: { pipeline: unknown[]; preprocess: PreprocessStep[] }[] = [
    { pipeline: [], preprocess: [] },
    { pipeline: ['snv'], preprocess: [{ name: 'snv' }] },
    { pipeline: ['msc', 'center'], preprocess: [{ name: 'msc' }, { name: 'center' }] },
    {
      pipeline: [{ savitzky_golay: { window: 5, derivative: 1 } }, 'standardize'],
      preprocess: [
        { name: 'savitzky_golay', window: 5, polynomial: 2, derivative: 1 },
        { name: 'standardize' },
      ],
    },
  ];

  for (const { pipeline, preprocess } of steps) {
    const names = [...preprocess.map((step) => step.name), 'pls'].join(', ');
    it(`predicts from the file exactly what the fitted model predicts: ${names}`, () => {
      const { outputDir, extra } = runHere({ pipeline: [...pipeline, { pls: { components: 3 } }], dataset });
      const about = { mljs_version: '0.0.0', metrics: {} };
      const fitted = fitModel(readDataset(dataset), preprocess, 3, about);
      const expected = predictor(fitted).predict(unseen);
      assert.equal(expected.length, 10);
      assert.equal(new Set(expected).size, 10);
      assert.deepEqual(loadModel(join(outputDir, extra.model_file as string)).predict(unseen), expected);
    });
  }

  it('is fitted on all training rows with the chosen number of components', () => {
    const { outputDir, extra } = runHere({ pipeline: [{ pls: { components: [1, 2, 3] } }], dataset });
    const { model } = loadModel(join(outputDir, MODEL_FILE));
    assert.equal(model.components, extra.best_components);
    assert.equal(model.training_rows, 15);
  });

  it('predicts the octane numbers of the gasoline data from raw spectra', () => {
    const pipeline = ['snv', { cross_validation: { folds: 5 } }, { pls: { components: 4 } }];
    const { outputDir, metrics } = runHere({ pipeline, dataset: GASOLINE });
    const { model, predict } = loadModel(join(outputDir, MODEL_FILE));
    const { train: gasoline, columns } = readDataset(GASOLINE);
    const errors = predict(gasoline.x).map((value, i) => value - (gasoline.y[i] as number));
    const rmse = Math.sqrt(errors.reduce((sum, error) => sum + error * error, 0) / errors.length);
    assert.ok(rmse < metrics.best_rmse, 'fitted rows are predicted better than held-out ones');
    assert.deepEqual(model.wavelengths, columns);
    assert.equal(model.wavelengths?.[1], '902 nm');
    assert.equal(model.target, 'octane');
    assert.deepEqual(model.metrics, { validation: 'k_fold', ...metrics });
  });

  const { outputDir } = runHere({ pipeline: [{ pls: { components: 2 } }], dataset });
  const path = join(outputDir, MODEL_FILE);

  it('refuses spectra of another length or with gaps', () => {
    const { predict } = loadModel(path);
    const [row] = unseen as [number[]];
    assert.throws(() => predict([row, row.slice(1)]), /InputError: .*row 2 has 8 values, .* expects 9$/);
    assert.throws(() => predict([row.with(3, Number.NaN)]), /InputError: .*row 1 has a value that is not/);
  });

  it('is refused if the file is missing, no model, or of another format version', () => {
    const folder = scratch();
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    assert.throws(() => loadModel(join(folder, 'none.json')), /InputError: model file not found: /);
    assert.throws(() => loadModel(file('a.json', 'x')), /InputError: .*a\.json: is not JSON$/);
    assert.throws(
      () => loadModel(file('b.json', '{}')),
      /InputError: .*b\.json: is not a model of mljs\.run$/,
    );
    const newer = { ...JSON.parse(readFileSync(path, 'utf8')), format_version: 2 };
    assert.throws(
      () => loadModel(file('c.json', JSON.stringify(newer))),
      /format version 2 is not supported$/,
    );
  });
});
