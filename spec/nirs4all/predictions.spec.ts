import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { parse } from 'csv-parse/sync';
import { describeWithLibrary } from './python.ts';
import { type Ended, GASOLINE, GASOLINE_COMMA, memberOf, runTask, writePipeline } from './support.ts';

type Row = Record<'sample' | 'partition' | 'fold' | 'y' | 'prediction' | 'target', string>;

const FOLDS = { class: 'sklearn.model_selection.KFold', params: { n_splits: 3 } };
const pls = (n_components: number) => ({
  model: { class: 'sklearn.cross_decomposition.PLSRegression', params: { n_components } },
});
const SWEEP = [{ _or_: ['StandardNormalVariate', 'FirstDerivative'].map(transform) }, FOLDS, pls(3)];

function transform(name: string) {
  return { class: `nirs4all.operators.transforms.${name}` };
}

function rowsOf({ folder }: Ended): Row[] {
  return parse(readFileSync(join(folder, 'output/predictions.csv'), 'utf8'), { columns: true });
}

const of = (rows: readonly Row[], partition: string) => rows.filter((row) => row.partition === partition);

/** As nirs4all sees the reference values: floats of 32 bits. */
function rmse(rows: readonly Row[]): number {
  const squares = rows.map(({ y, prediction }) => (Number(prediction) - Math.fround(Number(y))) ** 2);
  return Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / rows.length);
}

const near = (a: number, b: unknown) => assert.ok(Math.abs(a - Number(b)) < 1e-5 * a, `${a} and ${b}`);

describeWithLibrary('what nirs4all.run predicted of held-out samples', (runner) => {
  const run = async (pipeline: unknown, dataset: string, params = {}): Promise<Ended> => {
    const task = await runTask(runner, { pipeline: writePipeline(pipeline), dataset, params });
    assert.equal(task.code, 0, task.stderr);
    return task;
  };

  for (const engine of ['dag-ml', 'legacy']) {
    it(`is that of the selected variant: each fold's samples, then those of the test, by engine ${engine}`, async () => {
      const task = await run(SWEEP, GASOLINE, engine === 'legacy' ? { engine } : {});
      const { metrics } = task.result();
      const rows = rowsOf(task);
      const validated = of(rows, 'validation');
      const samples = validated.map(({ sample }) => Number(sample));
      assert.deepEqual(
        [...samples].sort((a, b) => a - b),
        samples.map((_, i) => i + 1),
        'each of the training samples once',
      );
      assert.deepEqual([...new Set(validated.map(({ fold }) => fold))], ['1', '2', '3']);
      near(rmse(validated), metrics.cv_rmse);
      const tested = of(rows, 'test');
      assert.equal(Number(tested[0]?.sample), samples.length + 1, 'numbered on from those');
      near(rmse(tested), metrics.best_rmse);
      assert.equal(rows.length, validated.length + tested.length);
      assert.ok(
        validated.every(({ y }) => /^\d+(\.\d{1,2})?$/.test(y)),
        'reference values as they were measured',
      );
    });
  }

  it('goes with the number of components of the model that was selected', async () => {
    const range = { _range_: [1, 4, 1], param: 'n_components', model: pls(1).model.class };
    const outputs = { export_best_model: true, keep_task_workspace: false };
    const [searched, bare] = await Promise.all(
      [[transform('StandardNormalVariate'), FOLDS, range], [pls(3)]].map((pipeline) =>
        runTask(runner, { pipeline: writePipeline(pipeline), dataset: GASOLINE, outputs }),
      ),
    );
    assert.ok(searched?.code === 0 && bare?.code === 0, searched?.stderr);
    assert.equal(bare.result().metrics.components, 3, 'also without steps before it');
    const best = String(searched.result().metrics.components);
    const model = join(searched.folder, 'output/best_model.n4a');
    const { model: words } = await memberOf(model, 'jq-cluster.json');
    assert.match(String(words), new RegExp(`n_components=${best}\\b`));
    assert.match(best, /^[1-4]$/);
  });

  it('is of the folds alone without a refit, and of the test samples alone without folds', async () => {
    const [explored, tested] = await Promise.all([
      run([FOLDS, pls(2)], GASOLINE_COMMA, { refit: false }),
      run([pls(2)], GASOLINE),
    ]);
    assert.deepEqual([...new Set(rowsOf(explored).map(({ partition }) => partition))], ['validation']);
    assert.deepEqual([...new Set(rowsOf(tested).map(({ partition }) => partition))], ['test']);
    assert.deepEqual(explored.result().extra.warnings, []);
  });
});
