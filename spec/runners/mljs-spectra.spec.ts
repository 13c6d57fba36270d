import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'csv-parse/sync';
import { datasetOf, GASOLINE, madeUp, runHere } from './mljs-support.ts';

const read = (folder: string, name: string) => {
  const path = join(folder, name);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;
};
const runOn = (dataset: string, steps: unknown[], params = {}) => {
  const { outputDir } = runHere({ pipeline: [...steps, { pls: { components: 2 } }], dataset, params });
  return {
    raw: read(outputDir, 'spectra.json'),
    preprocessed: read(outputDir, 'preprocessed.json'),
    outputDir,
  };
};
const upTo = (count: number, factor = 1) => Array.from({ length: count }, (_, k) => Math.floor(k * factor));

describe('the spectra that mljs.run keeps', () => {
  it('are those of the dataset, with their axis and unit, of every second column where there are more than 250', () => {
    const { raw } = runOn(GASOLINE, []);
    const [header, ...rows]: string[][] = parse(readFileSync(join(GASOLINE, 'train_x.csv'), 'utf8'));
    const kept = upTo(201, 2);
    assert.deepEqual(raw, {
      steps: [],
      samples: { of: 60, names: upTo(60).map((i) => `${i + 1}`), partitions: upTo(60).map(() => 'train') },
      axis: { unit: 'nm', of: 401, values: kept.map((j) => Number.parseFloat(header?.[j] as string)) },
      values: rows.map((row) => kept.map((j) => Number(row[j]))),
    });
  });

  it('are kept once more as the steps of the model made them, which were fitted on training samples alone', () => {
    const made = madeUp(12, 6);
    const dataset = datasetOf({
      'train_x.csv': made.x.slice(0, 8),
      'train_y.csv': made.y.slice(0, 8).join('\n'),
      'test_x.csv': made.x.slice(8),
      'test_y.csv': made.y.slice(8).join('\n'),
    });
    const { raw, preprocessed } = runOn(dataset, ['center']);
    assert.deepEqual(raw.axis, { unit: 'column', of: 6, values: [1, 2, 3, 4, 5, 6] });
    assert.deepEqual(raw.samples.partitions, [...Array(8).fill('train'), ...Array(4).fill('test')]);
    assert.deepEqual(
      raw.samples.names,
      [...upTo(8), ...upTo(4)].map((i) => `${i + 1}`),
    );
    assert.deepEqual(raw.values, made.x);
    const { values, steps, ...about } = preprocessed;
    assert.deepEqual(steps, ['center']);
    assert.deepEqual(about, { samples: raw.samples, axis: raw.axis });
    const mean = made.x[0]?.map((_, j) =>
      made.x.slice(0, 8).reduce((sum, row) => sum + (row[j] as number) / 8, 0),
    );
    for (const [i, row] of made.x.entries()) {
      for (const [j, value] of row.entries())
        assert.ok(Math.abs(values[i][j] - (value - (mean?.[j] as number))) < 1e-5);
    }
  });

  it('are the raw ones alone where no model was fitted, and where it does nothing before', () => {
    assert.equal(runOn(GASOLINE, ['snv'], { refit: false }).preprocessed, null);
    assert.equal(runOn(GASOLINE, []).preprocessed, null);
  });

  it('are the same bytes whatever the pipeline, so that those of a sweep are stored once', () => {
    const bytes = ({ outputDir }: { outputDir: string }) => readFileSync(join(outputDir, 'spectra.json'));
    assert.deepEqual(bytes(runOn(GASOLINE, ['snv'])), bytes(runOn(GASOLINE, ['msc'], { random_state: 7 })));
  });

  it('are at most 200, spread evenly over training and test samples, with at most 250 values each', () => {
    const [train, test] = [madeUp(450, 501, 1), madeUp(150, 501, 2)];
    const dataset = datasetOf({
      'train_x.csv': train.x,
      'train_y.csv': train.y.join('\n'),
      'test_x.csv': test.x,
      'test_y.csv': test.y.join('\n'),
    });
    const { raw } = runOn(dataset, [{ cross_validation: { folds: 2 } }]);
    const kept = upTo(200, 3);
    assert.equal(raw.samples.of, 600);
    assert.deepEqual(
      raw.samples.names,
      kept.map((i) => String((i < 450 ? i : i - 450) + 1)),
    );
    assert.deepEqual(
      raw.samples.partitions,
      kept.map((i) => (i < 450 ? 'train' : 'test')),
    );
    assert.deepEqual(raw.axis.of, 501);
    assert.deepEqual(
      raw.axis.values,
      upTo(167, 3).map((j) => j + 1),
    );
    assert.deepEqual(
      raw.values[150],
      upTo(167, 3).map((j) => test.x[0]?.[j]),
    );
  });
});
