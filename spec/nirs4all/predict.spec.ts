import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { parse } from 'csv-parse/sync';
import { describeWithLibrary } from './python.ts';
import {
  callPredictDirectly,
  type Ended,
  GASOLINE,
  memberOf,
  runPrediction,
  runTask,
  scratch,
  writePipeline,
} from './support.ts';

type Row = Record<'sample' | 'partition' | 'fold' | 'y' | 'prediction' | 'target', string>;

const PIPELINE = [
  {
    _or_: ['StandardNormalVariate', 'FirstDerivative'].map((name) => ({
      class: `nirs4all.operators.transforms.${name}`,
    })),
  },
  { class: 'sklearn.model_selection.KFold', params: { n_splits: 3 } },
  { model: { class: 'sklearn.cross_decomposition.PLSRegression', params: { n_components: 3 } } },
];
const TASK = { job_id: 'job_1', task_id: 'task_1', attempt: 1 };

const rowsOf = (path: string): Row[] => parse(readFileSync(path, 'utf8'), { columns: true });
const predictedBy = ({ folder }: Ended): Row[] => rowsOf(join(folder, 'output/predictions.csv'));
/** As numbers, which Python and JavaScript write in other ways. */
const values = (rows: readonly Row[]) => rows.map(({ prediction }) => Number(prediction));

const numbersIn = (name: string): number[][] =>
  readFileSync(join(GASOLINE, name), 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(';').map(Number));
const table = (axis: readonly (string | number)[], rows: readonly (readonly number[])[]): string =>
  [axis, ...rows].map((row) => row.join(';')).join('\n');

function datasetOf(files: Record<string, string>): string {
  const folder = scratch();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  return folder;
}

describeWithLibrary('nirs4all.predict', (runner) => {
  let trained: Promise<{ model: string; task: Ended }> | undefined;
  const gasoline = () => {
    trained ??= (async () => {
      const task = await runTask(runner, {
        ...{ pipeline: writePipeline(PIPELINE), dataset: GASOLINE, params: { random_state: 1 } },
        ...{ outputs: { export_best_model: true, keep_task_workspace: false }, task: TASK },
      });
      assert.equal(task.code, 0, task.stderr);
      return { model: join(task.folder, 'output/best_model.n4a'), task };
    })();
    return trained;
  };
  const predict = async (dataset: string, params = {}, model?: string): Promise<Ended> =>
    runPrediction(runner, { model: model ?? (await gasoline()).model, dataset, params });
  const succeeded = async (dataset: string, params = {}) => {
    const ended = await predict(dataset, params);
    assert.equal(ended.code, 0, ended.stderr);
    return ended;
  };
  const refused = async (dataset: string, words: RegExp, params = {}, model?: string) => {
    const { code, stderr } = await predict(dataset, params, model);
    assert.equal(code, 2, stderr);
    assert.match(stderr, words);
  };
  const [cal, val] = [numbersIn('Xcal.csv'), numbersIn('Xval.csv')];
  const axis = Array.from({ length: 401 }, (_, i) => 900 + 2 * i);

  it('gives, to the last digit, what the library gives by itself, and what the run gave of its test samples', async () => {
    const { model, task } = await gasoline();
    const ended = await succeeded(GASOLINE);
    const rows = predictedBy(ended);
    const [direct] = await callPredictDirectly(runner, [[model, [...cal, ...val]]]);
    assert.deepEqual(values(rows), direct);
    assert.deepEqual(
      [...new Set(rows.map(({ partition, target }) => `${partition} ${target}`))],
      ['predicted octane'],
    );
    const tested = predictedBy(task).filter(({ partition }) => partition === 'test');
    assert.equal(tested.length, 15);
    assert.deepEqual(values(rows.slice(45)), values(tested));
    const { counts, extra } = ended.result();
    assert.deepEqual(counts, { num_predictions: 60, num_measured: 60 });
    assert.deepEqual(extra.warnings, []);
  });

  it('measures as the run measures', async () => {
    const { task } = await gasoline();
    const files = { 'Xval.csv': '', 'Yval.csv': '' };
    const folder = datasetOf(files);
    for (const name of Object.keys(files)) copyFileSync(join(GASOLINE, name), join(folder, name));
    const { metrics } = (await succeeded(folder)).result();
    const run = task.result().metrics;
    const rows = predictedBy(task).filter(({ partition }) => partition === 'test');
    const bias =
      rows.reduce((sum, { y, prediction }) => sum + Number(prediction) - Number(y), 0) / rows.length;
    assert.ok(Math.abs(Number(metrics.bias) - bias) < 1e-5, `${metrics.bias} and ${bias}`);
    for (const name of ['rmse', 'r2', 'mae']) {
      assert.ok(Math.abs(Number(metrics[name]) - Number(run[`best_${name}`])) < 1e-12, name);
    }
  });

  it('needs no reference values: a folder with one table of any name, or a table', async () => {
    const folder = datasetOf({ 'new samples.csv': table(axis, val) });
    for (const dataset of [folder, join(folder, 'new samples.csv')]) {
      const ended = await succeeded(dataset);
      const rows = predictedBy(ended);
      assert.equal(rows.length, 15);
      assert.ok(rows.every(({ y }) => y === ''));
      assert.deepEqual(ended.result().metrics, {});
      const { task } = await gasoline();
      const tested = predictedBy(task).filter(({ partition }) => partition === 'test');
      assert.deepEqual(values(rows), values(tested));
    }
  });

  it('refuses spectra that lie elsewhere, with both axes, and others of another unit or number', async () => {
    const moved = axis.map((place) => place + 1);
    await refused(
      datasetOf({ 'Xval.csv': table(moved, val) }),
      /its spectra lie on 901 to 1701 \(401 columns\), those of the model on 900 to 1700 \(401 columns\); they cannot be interpolated beyond their end at 901$/m,
    );
    const fewer = val.map((row) => row.slice(1));
    await refused(
      datasetOf({ 'Xval.csv': table(axis.slice(1), fewer) }),
      /902 to 1700 \(400 columns\), those of the model on 900 to 1700/,
    );
  });

  it('puts columns that stand backwards into the order of the model', async () => {
    const backwards = table(
      axis.toReversed(),
      val.map((row) => row.toReversed()),
    );
    const ended = await succeeded(datasetOf({ 'Xval.csv': backwards }));
    const straight = await succeeded(datasetOf({ 'Xval.csv': table(axis, val) }));
    assert.deepEqual(values(predictedBy(ended)), values(predictedBy(straight)));
    assert.match(ended.result().extra.warnings.join(), /stand in another order than those of the model/);
  });

  it('interpolates on request, exactly where was measured', async () => {
    const fine = axis.flatMap((place, i) => (i === 0 ? [place] : [place - 1, place]));
    const rows = val.map((row) => row.flatMap((value, i) => (i === 0 ? [value] : [1e6, value])));
    const folder = datasetOf({ 'Xval.csv': table(fine, rows) });
    await refused(
      folder,
      /801 columns.*with params\.interpolate: true \(--interpolate\) they are interpolated/,
    );
    const ended = await succeeded(folder, { interpolate: true });
    const straight = await succeeded(datasetOf({ 'Xval.csv': table(axis, val) }));
    assert.deepEqual(values(predictedBy(ended)), values(predictedBy(straight)));
  });

  it('refuses what is no bundle, and options that the library does not have', async () => {
    const path = join(scratch(), 'best_model.joblib');
    writeFileSync(path, 'no zip');
    await refused(GASOLINE, /best_model\.joblib is no bundle \(\.n4a\) of nirs4all/, {}, path);
    await refused(GASOLINE, /nirs4all\.predict has no option shuffle/, { shuffle: true });
    await refused(GASOLINE, /params\.all_predictions is decided by the worker/, { all_predictions: true });
  });

  it('has bundles say what they are, and the library reads them as before', async () => {
    const { model } = await gasoline();
    const about = await memberOf(model, 'jq-cluster.json');
    const { axis: found, metrics, training, ...rest } = about as Record<string, Record<string, unknown>>;
    assert.deepEqual(rest, {
      library: 'nirs4all',
      version: runner.packages.nirs4all,
      model: 'PLSRegression(n_components=3)',
      preprocessing: rest.preprocessing,
      columns: 401,
      targets: [{ name: 'octane', unit: null }],
      task_type: 'regression',
      task: TASK,
    });
    assert.match(String(rest.preprocessing), /^(StandardNormalVariate|FirstDerivative)\(/);
    assert.deepEqual(found, { values: axis, unit: null });
    assert.equal(metrics?.best_rmse, (await gasoline()).task.result().metrics.best_rmse);
    const sums = execFileSync('sh', ['-c', 'LC_ALL=C; sha256sum * | sha256sum'], {
      cwd: GASOLINE,
      encoding: 'utf8',
    });
    assert.deepEqual(training, { samples: 45, sha256: sums.split(' ')[0] });
  });

  it('predicts with a bundle that says nothing of itself, and tells that nothing was compared', async () => {
    const { model } = await gasoline();
    const bare = join(scratch(), 'bare.n4a');
    copyFileSync(model, bare);
    execFileSync(runner.command[0] as string, [
      '-c',
      'import sys, zipfile, os; a = zipfile.ZipFile(sys.argv[1]); b = zipfile.ZipFile(sys.argv[1] + "~", "w"); [b.writestr(n, a.read(n)) for n in a.namelist() if n != "jq-cluster.json"]; b.close(); os.replace(sys.argv[1] + "~", sys.argv[1])',
      bare,
    ]);
    const ended = await predict(GASOLINE, {}, bare);
    assert.equal(ended.code, 0, ended.stderr);
    assert.deepEqual(values(predictedBy(ended)), values(predictedBy(await succeeded(GASOLINE))));
    assert.match(ended.result().extra.warnings.join(), /does not say which spectra it was made of/);
  });
});
