import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { axisOf } from '../../actors/worker/runners/mljs/data/axis-match.ts';
import { readDataset } from '../../actors/worker/runners/mljs/dataset.ts';
import { score } from '../../actors/worker/runners/mljs/metrics.ts';
import { loadModel } from '../../actors/worker/runners/mljs/model.ts';
import { type Prediction, predictDataset } from '../../actors/worker/runners/mljs/predict.ts';
import { MODEL_FILE } from '../../actors/worker/runners/mljs/run.ts';
import { parsePredictions } from '../../machines/results/predictions.ts';
import { datasetOf, GASOLINE, refusesInput, runChild, runHere, scratch, taskOf } from './mljs-support.ts';

const PIPELINE = ['snv', { savitzky_golay: { window: 7, derivative: 1 } }, { pls: { components: 3 } }];

/** A model of the gasoline data, and what is in them. */
function gasolineModel() {
  const { outputDir } = runHere({ pipeline: PIPELINE, dataset: GASOLINE });
  const { train, columns } = readDataset(GASOLINE);
  return { model: join(outputDir, MODEL_FILE), spectra: train.x, y: train.y, columns: columns as string[] };
}

const table = (header: readonly (string | number)[], rows: readonly (readonly (string | number)[])[]) =>
  `${[header, ...rows].map((row) => row.join(',')).join('\n')}\n`;

const NO_HINTS = { target: null, header: null, interpolate: false, warnings: [] };
const predict = (model: string, files: Record<string, string>, hints = {}): Prediction =>
  predictDataset({ ...NO_HINTS, ...hints, model, dataset: datasetOf(files) });
/** Of the file, without what is not known. */
const predictedIn = ({ csv }: Prediction) =>
  csv
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => Number(line.split(',')[4]));

describe('predicting with a model of mljs', () => {
  const { model, spectra, y, columns } = gasolineModel();
  const direct = loadModel(model).predict(spectra);

  it('gives of the spectra that it was fitted on exactly what the model gives itself', () => {
    const found = predictDataset({ ...NO_HINTS, model, dataset: GASOLINE });
    assert.deepEqual(predictedIn(found), direct);
    assert.equal(found.measured, 60);
    assert.deepEqual(found.warnings, []);
    const { bias, ...scores } = found.metrics;
    assert.deepEqual(scores, score(y, direct));
    assert.ok(Math.abs(bias as number) < 1e-9, 'least squares has no bias on what it was fitted on');
    assert.deepEqual(found.axes, [{ source: 'train_x.csv', how: 'same' }]);
  });

  it('needs no reference values, and reports no metrics without them', () => {
    const found = predict(model, { 'new.csv': table(columns, spectra) });
    assert.deepEqual(predictedIn(found), direct);
    assert.equal(found.csv.split('\n')[1], `1,predicted,,,${direct[0]},octane`);
    assert.deepEqual(found.metrics, {});
    assert.equal(found.measured, 0);
  });

  it('predicts samples that lack a reference value, and measures by the others', () => {
    const some = y.map((value, i) => [i < 2 ? '' : value]);
    const found = predict(model, {
      'test_x.csv': table(columns, spectra),
      'test_y.csv': `octane,note\n${some.map((row) => `${row},a`).join('\n')}\n`,
    });
    assert.deepEqual(predictedIn(found), direct);
    assert.equal(found.measured, 58);
    assert.equal(found.metrics.rmse, score(y.slice(2), direct.slice(2)).rmse);
  });

  it('joins by ids, and keeps a spectrum of which no reference value is there', () => {
    const found = predict(model, {
      'x.csv': table(
        ['sample', ...columns],
        [0, 1, 2].map((i) => [`s${i}`, ...(spectra[i] as number[])]),
      ),
      'y.csv': table(
        ['sample', 'octane'],
        [2, 0].map((i) => [`s${i}`, y[i] as number]),
      ),
    });
    const lines = found.csv.trim().split('\n').slice(1);
    assert.deepEqual(
      lines.map((line) => line.split(',').slice(0, 4).join()),
      [`s0,predicted,,${y[0]}`, 's1,predicted,,', `s2,predicted,,${y[2]}`],
    );
    assert.deepEqual(found.warnings, []);
  });

  it('takes of one table the column that is called as what the model predicts, and no other', () => {
    const header = ['octane', 'temperature', ...columns];
    const rows = spectra.map((row, i) => [y[i] as number, 20 + i, ...row]);
    const found = predict(model, { 'all.csv': table(header, rows) });
    assert.equal(found.measured, 60);
    assert.deepEqual(predictedIn(found), direct);
    assert.match(found.warnings.join(), /left out: temperature$/);
    const other = predict(model, {
      'all.csv': table(
        ['cetane', ...columns],
        rows.map(([a, , ...row]) => [a as number, ...row]),
      ),
    });
    assert.equal(other.measured, 0, 'whatever cetane is, octane was predicted');
  });

  it('says which reference values it compares with, where they are called otherwise', () => {
    const files = {
      'test_x.csv': table(columns, spectra),
      'test_y.csv': table(
        ['cetane'],
        y.map((v) => [v]),
      ),
    };
    const found = predict(model, files);
    assert.match(found.warnings.join(), /are called "cetane", and the model predicts "octane"/);
  });

  it('predicts one spectrum alone', () => {
    assert.deepEqual(
      predictedIn(predict(model, { 'new.csv': table(columns, spectra.slice(0, 1)) })),
      direct.slice(0, 1),
    );
  });

  it('runs as a task, in a process of its own', () => {
    const { pipeline: _, ...task } = taskOf({
      pipeline: PIPELINE,
      dataset: GASOLINE,
      params: { shuffle: 1 },
    });
    const { status, stderr, outputDir, readResult } = runChild({
      ...task,
      model: { mode: 'path', path: model },
    });
    assert.equal(status, 0, stderr);
    const text = readFileSync(join(outputDir, 'predictions.csv'), 'utf8');
    assert.deepEqual(
      parsePredictions(text).map(({ prediction }) => prediction),
      direct,
    );
    const { metrics, counts, extra } = readResult();
    assert.equal(metrics.rmse, score(y, direct).rmse);
    assert.deepEqual(counts, { num_predictions: 60, num_measured: 60 });
    assert.match(extra.warnings[0], /unknown parameter "shuffle" ignored/);
  });
});

describe('spectra that lie elsewhere than those of the model', () => {
  const { model, spectra, columns } = gasolineModel();
  const direct = loadModel(model).predict(spectra);
  const places = columns.map((name) => Number.parseFloat(name));

  it('are refused with both axes', () => {
    const moved = places.map((place) => `${place + 1} nm`);
    refusesInput(
      () => predict(model, { 'new.csv': table(moved, spectra) }),
      /^new\.csv: its spectra lie on 901 to 1701 nm \(401 columns\), those of the model on 900 to 1700 nm \(401 columns\); they cannot be interpolated beyond their end at 901 nm$/,
    );
  });

  it('are refused with the place where they part, if their ends are the same', () => {
    const bent = places.map((place, i) => (i === 7 ? place + 0.5 : place));
    refusesInput(
      () => predict(model, { 'new.csv': table(bent, spectra) }),
      /, and column 8 is 914\.5 instead of 914; with params\.interpolate: true \(--interpolate\) they are interpolated$/,
    );
  });

  it('are refused by their number, where they do not say where they lie', () => {
    const fewer = spectra.map((row) => row.slice(1));
    refusesInput(
      () => predict(model, { 'new.csv': fewer.map((row) => row.join(',')).join('\n') }),
      /have 400 columns without wavelengths, those of the model lie on 900 to 1700 nm \(401 columns\)$/,
    );
  });

  it('are taken with a warning, where they do not say where they lie and are as many', () => {
    const found = predict(model, { 'new.csv': spectra.map((row) => row.join(',')).join('\n') });
    assert.deepEqual(predictedIn(found), direct);
    assert.match(found.warnings.join(), /401 columns without wavelengths.*; they were taken for the same$/);
  });

  it('are refused in another unit', () => {
    const wavenumbers = places.map((place) => `${place} cm-1`);
    refusesInput(
      () => predict(model, { 'new.csv': table(wavenumbers, spectra) }),
      /900 to 1700 cm-1 \(401 columns\), those of the model on 900 to 1700 nm \(401 columns\); spectra of another unit are not converted$/,
    );
  });

  it('are put into the order of the model, where they stand backwards', () => {
    const backwards = spectra.map((row) => row.toReversed());
    const found = predict(model, { 'new.csv': table(columns.toReversed(), backwards) });
    assert.deepEqual(predictedIn(found), direct);
    assert.match(
      found.warnings.join(),
      /stand in another order than those of the model, and were put into that$/,
    );
    assert.equal(found.axes[0]?.how, 'reordered');
  });

  it('are the same where only the writing of numbers differs', () => {
    const found = predict(model, {
      'new.csv': table(
        places.map((place) => `X${place}.0`),
        spectra,
      ),
    });
    assert.deepEqual(predictedIn(found), direct);
    assert.equal(found.axes[0]?.how, 'same');
  });

  it('are interpolated on request, exactly where they were measured', () => {
    // Twice as fine: each second place is one of the model's.
    const fine = places.flatMap((place, i) => (i === 0 ? [place] : [place - 1, place]));
    const rows = spectra.map((row) => row.flatMap((value, i) => (i === 0 ? [value] : [1e6, value])));
    refusesInput(() => predict(model, { 'new.csv': table(fine, rows) }), /801 columns.*params\.interpolate/);
    const found = predict(model, { 'new.csv': table(fine, rows) }, { interpolate: true });
    assert.deepEqual(predictedIn(found), direct);
    assert.equal(found.axes[0]?.how, 'interpolated');
    assert.match(found.warnings.join(), /; they were interpolated$/);
  });

  it('are interpolated by straight lines, whichever way their axis goes', () => {
    const between = places.slice(0, -1).map((place) => place + 1);
    const line = (place: number) => 3 * place + 1;
    const wide = [898, ...between.map((place) => place - 0.5), 1702];
    for (const axis of [wide, wide.toReversed()]) {
      const fitted = loadModel(model).predict([places.map(line)]);
      const found = predict(model, { 'new.csv': table(axis, [axis.map(line)]) }, { interpolate: true });
      const [value] = predictedIn(found);
      assert.ok(Math.abs((value as number) - (fitted[0] as number)) < 1e-6);
    }
  });
});

describe('what a model says of itself', () => {
  it('is library, axis, steps, target, the data and the task that it was made of', () => {
    const made = { job_id: 'job_1', task_id: 'task_1', attempt: 2 };
    const task = { ...taskOf({ pipeline: PIPELINE, dataset: GASOLINE }), task: made };
    const { outputDir, stderr } = runChild(task);
    assert.equal(stderr, '');
    const { about } = loadModel(join(outputDir, MODEL_FILE)).model;
    assert.equal(about?.library, 'mljs');
    assert.deepEqual(about?.preprocessing, ['snv', 'savitzky_golay (window 7, polynomial 2, derivative 1)']);
    assert.equal(about?.model, 'PLS regression, 3 components');
    assert.deepEqual(
      [about?.axis?.values[0], about?.axis?.values.at(-1), about?.axis?.unit],
      [900, 1700, 'nm'],
    );
    assert.deepEqual(about?.targets, [{ name: 'octane', unit: null }]);
    assert.deepEqual(about?.task, made);
    assert.equal(about?.training.samples, 60);
    const sums = execFileSync('sh', ['-c', 'LC_ALL=C; sha256sum * | sha256sum'], {
      cwd: GASOLINE,
      encoding: 'utf8',
    });
    assert.equal(about?.training.sha256, sums.split(' ')[0]);
  });

  it('has the unit of the target, where its name ends with one', () => {
    const { x, y } = {
      x: [
        [1, 2, 3],
        [2, 3, 5],
        [3, 5, 4],
        [5, 4, 6],
        [4, 6, 7],
      ],
      y: [1, 2, 3, 5, 4],
    };
    const dataset = datasetOf({ 'train_x.csv': x, 'train_y.csv': `protein (g/100 g)\n${y.join('\n')}` });
    const { outputDir } = runHere({ pipeline: [{ pls: { components: 1 } }], dataset });
    const { about } = loadModel(join(outputDir, MODEL_FILE)).model;
    assert.deepEqual(about?.targets, [{ name: 'protein (g/100 g)', unit: 'g/100 g' }]);
  });

  it('may be missing, as in models of earlier versions', () => {
    const { model, spectra } = gasolineModel();
    const { about: _, ...earlier } = JSON.parse(readFileSync(model, 'utf8'));
    const path = join(scratch(), 'best_model.json');
    writeFileSync(path, JSON.stringify(earlier));
    assert.deepEqual(
      predictedIn(predictDataset({ ...NO_HINTS, model: path, dataset: GASOLINE })),
      loadModel(model).predict(spectra),
    );
  });

  it('is refused where it is no whole model', () => {
    const { model } = gasolineModel();
    const whole = JSON.parse(readFileSync(model, 'utf8'));
    const path = join(scratch(), 'cut.json');
    writeFileSync(path, JSON.stringify({ ...whole, coefficients: whole.coefficients.slice(1) }));
    refusesInput(() => predictDataset({ ...NO_HINTS, model: path, dataset: GASOLINE }), /is not complete$/);
  });
});

describe('columns that are only numbered', () => {
  it('are no axis: by V1, X1 or plain numbers from below 100; others are', () => {
    const named = (name: (i: number) => string, first = 1) => axisOf([0, 1, 2].map((i) => name(first + i)));
    for (const axis of [
      named((i) => `V${i}`, 400),
      named((i) => `X${i}`),
      named(String, 0),
      named((i) => `column ${i}`),
    ])
      assert.equal(axis, null);
    assert.deepEqual(named(String, 400)?.values, [400, 401, 402]);
    assert.deepEqual(named((i) => `${i} cm-1`)?.unit, 'cm-1');
    assert.deepEqual(named((i) => `X${i}`, 900)?.values, [900, 901, 902]);
  });
});
