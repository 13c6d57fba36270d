import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import type { Dataset } from '../../actors/worker/runners/mljs/dataset.ts';
import { MOST_PREDICTIONS, predictionsCsv } from '../../actors/worker/runners/mljs/predictions.ts';
import { datasetOf, GASOLINE, madeUp, runHere } from './mljs-support.ts';

type Row = Record<'sample' | 'partition' | 'fold' | 'y' | 'prediction' | 'target', string>;
const rowsOf = (folder: string): Row[] =>
  parse(readFileSync(join(folder, 'predictions.csv'), 'utf8'), { columns: true });
const curvesOf = (folder: string) => JSON.parse(readFileSync(join(folder, 'curves.json'), 'utf8')).curves;

function rmse(rows: readonly Row[]): number {
  const squares = rows.map(({ y, prediction }) => (Number(prediction) - Number(y)) ** 2);
  return Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / rows.length);
}

const near = (a: number, b: number) => assert.ok(Math.abs(a - b) <= 1e-12 * b, `${a} and ${b}`);

const made = madeUp(20, 6);
const NAMES = made.y.map((_, i) => `barley "${i}", 2nd`);
const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const spectra = (from: number, to: number) =>
  `id,900,902,904,906,908,910\n${made.x
    .slice(from, to)
    .map((row, i) => `${quoted(NAMES[from + i] as string)},${row.join(',')}\n`)
    .join('')}`;
const values = (from: number, to: number) => `"starch, %"\n${made.y.slice(from, to).join('\n')}\n`;
const NAMED = datasetOf({
  'train_x.csv': spectra(0, 15),
  'train_y.csv': values(0, 15),
  'test_x.csv': spectra(15, 20),
  'test_y.csv': values(15, 20),
});
const FOLDS = { cross_validation: { folds: 5, shuffle: true } };

describe('what mljs.run predicted of held-out samples', () => {
  it('is kept with each training sample once, by the fold that held it out and the chosen component count', () => {
    const { outputDir, metrics } = runHere({
      pipeline: [FOLDS, { pls: { components: [1, 2, 3] } }],
      dataset: GASOLINE,
    });
    const rows = rowsOf(outputDir);
    assert.deepEqual(
      rows.map(({ sample }) => Number(sample)).sort((a, b) => a - b),
      Array.from({ length: 60 }, (_, i) => i + 1),
    );
    assert.deepEqual([...new Set(rows.map(({ fold }) => fold))], ['1', '2', '3', '4', '5']);
    assert.deepEqual(
      [...new Set(rows.map((row) => `${row.partition} ${row.target}`))],
      ['validation octane'],
    );
    near(rmse(rows), metrics.best_rmse);
  });

  it('names samples and target as the files do, and has the test samples behind those of the folds', () => {
    const { outputDir, metrics, extra } = runHere({
      pipeline: [FOLDS, { pls: { components: 2 } }],
      dataset: NAMED,
    });
    const rows = rowsOf(outputDir);
    const tested = rows.slice(15);
    assert.deepEqual(
      rows
        .slice(0, 15)
        .map(({ sample }) => sample)
        .sort(),
      NAMES.slice(0, 15).sort(),
    );
    assert.deepEqual(
      tested.map(({ sample, partition, fold, target }) => [sample, partition, fold, target]),
      NAMES.slice(15).map((name) => [name, 'test', '', 'starch, %']),
    );
    near(rmse(rows.slice(0, 15)), metrics.cv_rmse as number);
    near(rmse(tested), (extra.test as { rmse: number }).rmse);
  });

  it('is of the test samples alone where nothing was cross-validated, and of the folds alone without a refit', () => {
    const plain = [{ pls: { components: 2 } }];
    const tested = rowsOf(runHere({ pipeline: plain, dataset: NAMED }).outputDir);
    assert.deepEqual([...new Set(tested.map(({ partition }) => partition))], ['test']);
    const explored = runHere({ pipeline: plain, dataset: NAMED, params: { refit: false } });
    assert.deepEqual([...new Set(rowsOf(explored.outputDir).map((row) => row.partition))], ['validation']);
  });

  it('skips the numbers of samples without a reference value', () => {
    const dataset = datasetOf({
      'train_x.csv': made.x,
      'train_y.csv': `y\nNA\n${made.y.slice(1).join('\n')}`,
    });
    const { outputDir } = runHere({ pipeline: [{ pls: { components: 1 } }], dataset });
    assert.deepEqual(
      rowsOf(outputDir).map(({ sample }) => sample),
      Array.from({ length: 19 }, (_, i) => `${i + 2}`),
    );
  });

  it(`ends after ${MOST_PREDICTIONS} rows, and says how many are not there`, () => {
    const count = MOST_PREDICTIONS + 3;
    const y = new Array<number>(count).fill(1);
    const test = { source: 'test_x.csv', x: [], y, names: y.map(String) };
    const dataset: Dataset = { train: test, test, columns: null, target: null, classes: [], warnings: [] };
    const { text, leftOut } = predictionsCsv({ dataset, validated: null, tested: y });
    assert.equal(leftOut, 3);
    assert.equal(text.split('\n').length, 1 + MOST_PREDICTIONS + 1);
  });
});

describe('the curves of mljs.run', () => {
  it('are errors by the number of components, with the one that was chosen', () => {
    const components = [1, 2, 3, 4];
    const { outputDir, extra } = runHere({ pipeline: [FOLDS, { pls: { components } }], dataset: GASOLINE });
    const scores = extra.component_scores as { rmse: number; r2: number; mae: number }[];
    const series = (of: 'rmse' | 'r2' | 'mae') => scores.map((one) => one[of]);
    assert.deepEqual(curvesOf(outputDir), [
      {
        of: 'cross-validation',
        x: { name: 'components', values: components },
        series: { rmse: series('rmse'), r2: series('r2'), mae: series('mae') },
        chosen: extra.best_components,
      },
    ]);
  });

  it('are none where one number of components was tried', () => {
    const { outputDir } = runHere({ pipeline: [FOLDS, { pls: { components: 2 } }], dataset: GASOLINE });
    assert.equal(existsSync(join(outputDir, 'curves.json')), false);
  });
});
