import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { parse } from 'csv-parse/sync';
import { describeWithLibrary } from './python.ts';
import { GASOLINE, GASOLINE_COMMA, runTask, scratch, writePipeline } from './support.ts';

const FOLDS = { class: 'sklearn.model_selection.KFold', params: { n_splits: 3 } };
const PLS = { model: { class: 'sklearn.cross_decomposition.PLSRegression', params: { n_components: 2 } } };
const SNV = { class: 'nirs4all.operators.transforms.StandardNormalVariate' };
const DERIVATIVE = { class: 'nirs4all.operators.transforms.FirstDerivative' };

const tableOf = (path: string, delimiter = ';'): string[][] =>
  parse(readFileSync(path, 'utf8'), { delimiter });
const columns = (count: number) => Array.from({ length: count }, (_, k) => 2 * k);

/** Divided by the standard deviation with n, as nirs4all's own class has it by default. */
function snv(row: readonly number[]): number[] {
  const mean = row.reduce((sum, value) => sum + value, 0) / row.length;
  const spread = Math.sqrt(row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length);
  return row.map((value) => (value - mean) / spread);
}

describeWithLibrary('the spectra that nirs4all.run keeps', (runner) => {
  const run = async (steps: unknown[], dataset = GASOLINE, params = {}, model = true) => {
    const task = await runTask(runner, {
      ...{ pipeline: writePipeline([...steps, FOLDS, PLS]), dataset, params },
      outputs: { export_best_model: model, keep_task_workspace: false },
    });
    assert.equal(task.code, 0, task.stderr);
    assert.deepEqual(task.result().extra.warnings, []);
    const read = (name: string) => {
      const path = join(task.folder, 'output', name);
      return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;
    };
    return { raw: read('spectra.json'), preprocessed: read('preprocessed.json') };
  };

  it('are those of the dataset, samples called as in the predictions, and what the steps of the model made of them', async () => {
    const { raw, preprocessed } = await run([SNV]);
    const [[header = [], ...train], [, ...test]] = ['Xcal', 'Xval'].map((name) =>
      tableOf(join(GASOLINE, `${name}.csv`)),
    ) as [string[][], string[][]];
    const rows = [...train, ...test].map((row) => row.map(Number));
    assert.deepEqual(raw, {
      steps: [],
      samples: {
        of: 60,
        names: rows.map((_, i) => String(i + 1)),
        partitions: rows.map((_, i) => (i < 45 ? 'train' : 'test')),
      },
      axis: { unit: null, of: 401, values: columns(201).map((j) => Number(header[j])) },
      values: rows.map((row) => columns(201).map((j) => row[j])),
    });
    const { steps, values, ...about } = preprocessed;
    assert.deepEqual(steps, ['StandardNormalVariate()']);
    assert.deepEqual(about, { samples: raw.samples, axis: raw.axis });
    for (const [i, row] of rows.entries()) {
      const treated = snv(row);
      for (const [k, j] of columns(201).entries()) {
        assert.ok(Math.abs(values[i][k] - (treated[j] as number)) < 1e-4, `sample ${i + 1}, column ${j}`);
      }
    }
  });

  it('are the raw ones alone without a model, by another engine, without steps, and where steps put several side by side', async () => {
    const beside = { feature_augmentation: [SNV, DERIVATIVE] };
    for (const found of await Promise.all([
      run([SNV], GASOLINE_COMMA, { refit: false }, false),
      run([SNV], GASOLINE, { engine: 'legacy' }),
      run([]),
      run([beside]),
    ])) {
      assert.equal(found.raw.samples.of, 60);
      assert.equal(found.preprocessed, null);
    }
  });

  it('are not there where a gap may have moved the numbers of the samples', async () => {
    const dataset = scratch();
    for (const [from, to] of [
      ['train_x.csv', 'Xcal.csv'],
      ['train_y.csv', 'Ycal.csv'],
    ] as const) {
      const rows = tableOf(join(GASOLINE_COMMA, from), ',');
      // Of the second sample.
      if (from === 'train_x.csv') (rows[2] as string[])[3] = '';
      writeFileSync(join(dataset, to), rows.map((row) => row.join(';')).join('\n'));
    }
    const params = { refit: false };
    const task = await runTask(runner, { pipeline: writePipeline([FOLDS, PLS]), dataset, params });
    assert.equal(existsSync(join(task.folder, 'output/spectra.json')), false);
  });
});
