import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, it } from 'node:test';
import { parseProgress } from '../../actors/worker/child/lines.ts';
import { jsonFingerprint } from '../../machines/json/canonical.ts';
import { describeWithLibrary } from './python.ts';
import { type Ended, GASOLINE, GASOLINE_COMMA, runTask, scratch, writePipeline } from './support.ts';

const RECIPE = `
from sklearn.cross_decomposition import PLSRegression
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from .parts import COMPONENTS

def build_pipeline():
    return [StandardScaler(), KFold(n_splits=3), {"model": PLSRegression(n_components=COMPONENTS)}]
`;

describeWithLibrary('a pipeline that a Python module builds', (runner) => {
  let task: Ended;
  before(async () => {
    const bundle = scratch();
    mkdirSync(join(bundle, 'recipes'));
    writeFileSync(join(bundle, 'recipes/octane.py'), RECIPE);
    writeFileSync(join(bundle, 'recipes/parts.py'), 'COMPONENTS = 3\n');
    const pipeline = { mode: 'entrypoint', entrypoint: 'recipes.octane:build_pipeline', sys_path: [bundle] };
    task = await runTask(runner, { pipeline, dataset: GASOLINE, inner_n_jobs: 2 });
  });

  it('runs, with what it imports from its bundle', () => {
    assert.equal(task.code, 0, task.stderr);
    const { metrics, extra } = task.result();
    assert.ok(Number(metrics.best_rmse) > 0);
    assert.equal(extra.best.model_name, 'PLSRegression');
  });

  it('has the fingerprint of the same pipeline written as JSON', () => {
    const written = [
      'sklearn.preprocessing._data.StandardScaler',
      { class: 'sklearn.model_selection._split.KFold', params: { n_splits: 3 } },
      { model: { class: 'sklearn.cross_decomposition._pls.PLSRegression', params: { n_components: 3 } } },
    ];
    assert.equal(task.result().pipeline_fingerprint, jsonFingerprint(JSON.stringify(written)));
  });

  it('gets the inner parallelism in the form that the engine of nirs4all expects', () => {
    assert.match(task.stdout, /options \{'cpu_threads': 2\}/);
    assert.equal(task.result().extra.engine, 'dag-ml');
  });

  it('leaves no model where none is asked for', () => {
    assert.equal(task.result().extra.model_file, null);
    assert.deepEqual(task.result().extra.warnings, []);
  });
});

describeWithLibrary('a dataset folder with a description of its own', (runner) => {
  let task: Ended;
  before(async () => {
    const folder = scratch();
    copyFileSync(join(GASOLINE_COMMA, 'train_x.csv'), join(folder, 'spectra.csv'));
    copyFileSync(join(GASOLINE_COMMA, 'train_y.csv'), join(folder, 'octane.csv'));
    const description = { train_x: 'spectra.csv', train_y: 'octane.csv', global_params: { delimiter: ',' } };
    writeFileSync(join(folder, 'nirs4all.json'), JSON.stringify({ name: 'fuel', ...description }));
    // A file whose name does not say what it is, and a parameter that PLSRegression does not have.
    const pipeline = writePipeline(
      [
        { class: 'sklearn.model_selection.KFold', params: { n_splits: 3 } },
        { model: { class: 'sklearn.cross_decomposition.PLSRegression', params: { components: 3 } } },
      ],
      'pipeline-file',
    );
    const params = { engine: 'legacy', random_state: 1 };
    const outputs = { export_best_model: true };
    task = await runTask(runner, { pipeline, dataset: folder, params, outputs });
  });

  it('is read as the description says, its paths counted from the folder', () => {
    assert.equal(task.code, 0, task.stderr);
    const { metrics, extra } = task.result();
    assert.ok(Number(metrics.cv_rmse) > 0);
    assert.equal(extra.best.dataset_name, 'fuel');
  });

  it('is run by the older engine with as many jobs as the task may use', () => {
    assert.match(task.stdout, /options \{'n_jobs': 1, 'engine': 'legacy', 'random_state': 1\}/);
  });

  it('leaves the best model, the predictions and the spectra, and nothing else, in the output directory', () => {
    assert.deepEqual(readdirSync(join(task.folder, 'output')), [
      'best_model.n4a',
      'predictions.csv',
      'spectra.json',
    ]);
    assert.equal(readFileSync(join(task.folder, 'output/best_model.n4a')).subarray(0, 2).toString(), 'PK');
    assert.equal(task.result().extra.model_file, 'best_model.n4a');
  });

  it('has a warning where nirs4all went on without a parameter', () => {
    const { warnings } = task.result().extra;
    assert.ok(warnings.some((line) => /^Failed to instantiate .*PLSRegression.*'components': 3/.test(line)));
  });

  it('reports its progress from loading to done, never falling', () => {
    const lines = task.stdout.split('\n').flatMap((line) => parseProgress(line) ?? []);
    assert.equal(lines[0]?.message, 'loading nirs4all');
    assert.deepEqual(lines.at(-1), { progress: 1, message: 'done' });
    assert.ok(lines.every(({ progress }, i) => progress >= (lines[i - 1]?.progress ?? 0)));
  });
});
