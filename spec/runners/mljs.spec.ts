import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, it } from 'node:test';
import { readDataset } from '../../actors/worker/runners/mljs/dataset.ts';
import { crossValidate } from '../../actors/worker/runners/mljs/evaluate.ts';
import { makeFolds } from '../../actors/worker/runners/mljs/folds.ts';
import { mljsRunner } from '../../actors/worker/runners/mljs/index.ts';
import { datasetOf, GASOLINE, madeUp, runChild, taskOf } from './mljs-support.ts';

// RMSEP of octane, leave-one-out, PLS centred and unscaled, from R package pls 2.8.
const REFERENCE = [1.328, 0.3813, 0.2579, 0.2412, 0.2412];
const REFERENCE_MEAN = 1.543;
const fourDigits = (value: number): number => Number(value.toPrecision(4));

const LEAVE_ONE_OUT = { cross_validation: { leave_one_out: true } };

describe('mljs.run on the gasoline data', () => {
  it('gives the reference errors of 1 to 5 components and of predicting the mean', () => {
    const { train } = readDataset(GASOLINE);
    const folds = makeFolds(60, { kind: 'leave_one_out' }, 0);
    const evaluation = crossValidate(train, { preprocess: [], components: [1, 2, 3, 4, 5] }, folds);
    assert.deepEqual(
      evaluation.scores.map(({ rmse }) => fourDigits(rmse)),
      REFERENCE,
    );
    assert.equal(fourDigits(evaluation.baseline.rmse), REFERENCE_MEAN);
  });

  const pipeline = [LEAVE_ONE_OUT, { pls: { components: [1, 2, 3, 4, 5] } }];
  const child = runChild(taskOf({ pipeline, dataset: GASOLINE }));

  it('gives the same errors as a child process and chooses the component count with the smallest', () => {
    assert.equal(child.stderr, '');
    assert.equal(child.status, 0);
    const { status, metrics, counts, extra, ...rest } = child.readResult();
    assert.equal(status, 'succeeded');
    assert.deepEqual(
      extra.component_scores.map(({ rmse }: { rmse: number }) => fourDigits(rmse)),
      REFERENCE,
    );
    assert.equal(extra.best_components, 4);
    assert.equal(extra.validation, 'leave_one_out');
    assert.equal(fourDigits(extra.baseline_rmse), REFERENCE_MEAN);
    assert.equal(metrics.best_rmse, extra.component_scores[3].rmse);
    assert.equal(metrics.best_score, metrics.best_rmse);
    assert.equal(metrics.best_r2, extra.component_scores[3].r2);
    assert.equal(metrics.best_mae, extra.component_scores[3].mae);
    assert.equal(metrics.best_accuracy, null);
    assert.equal(counts.num_predictions, 300);
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    assert.equal(rest.mljs_version, manifest.version);
    assert.ok(rest.duration_seconds > 0);
  });

  it('writes one progress line per fold, rising to 1', () => {
    const lines = child.stdout.split('\n').filter((line) => line.startsWith('::progress '));
    const folds = lines.filter((line) => / fold \d+\/60$/.test(line));
    assert.equal(folds.length, 60);
    const fractions = lines.map((line) => Number(line.split(' ')[1]));
    assert.ok(fractions.every((fraction, i) => fraction > 0 && fraction >= (fractions[i - 1] ?? 0)));
    assert.equal(fractions.at(-1), 1);
  });

  it('logs one line per component count with RMSE and R2', () => {
    const lines = child.stdout.split('\n').filter((line) => line.startsWith('components '));
    assert.equal(lines.length, 5);
    assert.equal(lines[1], 'components 2: RMSE 0.3813 R2 0.9368');
  });

  it('leaves model, predictions, curves and spectra in the output folder and no temporary file anywhere', () => {
    const kept = ['best_model.json', 'curves.json', 'predictions.csv', 'spectra.json'];
    assert.deepEqual(readdirSync(child.outputDir).sort(), kept);
    assert.deepEqual(readdirSync(dirname(child.resultFile)).sort(), ['outputs', 'result.json', 'task.json']);
  });
});

describe('the runner as a child process', () => {
  const { x, y } = madeUp(14, 6);
  const dataset = datasetOf({ 'train_x.csv': x, 'train_y.csv': y.map((value) => [value]) });
  const pipeline = [{ cross_validation: { folds: 4 } }, { pls: { components: 2 } }];
  const run = (params: Record<string, unknown>, outputs = {}) =>
    runChild(taskOf({ pipeline, dataset, params, outputs }));

  it('writes no model unless asked to', () => {
    const { status, outputDir, readResult } = run({}, { export_best_model: false });
    assert.equal(status, 0);
    assert.deepEqual(readdirSync(outputDir), ['predictions.csv', 'spectra.json']);
    assert.equal(readResult().extra.model_file, null);
  });

  it('gives the same result each time for one random_state and another for another', () => {
    const [first, again, other] = [7, 7, 8].map((random_state) => {
      const { duration_seconds, ...result } = run({ random_state }).readResult();
      return result;
    });
    assert.deepEqual(again, first);
    assert.notEqual(other.metrics.best_rmse, first.metrics.best_rmse);
  });

  it('is silent but for progress with verbose 0, and still reports unknown params in the result', () => {
    const { stdout, readResult } = run({ verbose: 0, random_sate: 3 });
    assert.deepEqual(
      stdout.split('\n').filter((line) => line !== '' && !line.startsWith('::progress ')),
      [],
    );
    assert.match(readResult().extra.warnings[0], /random_sate.*did you mean "random_state"/);
  });

  it('warns of unknown params on standard output and runs', () => {
    const { status, stdout } = run({ n_trees: 100 });
    assert.equal(status, 0);
    assert.match(stdout, /^warning: unknown parameter "n_trees" ignored$/m);
  });

  it('ends with exit code 2, one line on standard error and no result for an input fault', () => {
    const { status, stderr, resultFile } = runChild(taskOf({ pipeline: ['svn', 'pls'], dataset }));
    assert.equal(status, 2);
    assert.match(stderr, /^Error: pipeline\.json: step 1: unknown step "svn" \(did you mean "snv"\?\).*\n$/);
    assert.equal(existsSync(resultFile), false);
  });

  it('ends with exit code 2 for a task file that is not JSON', () => {
    const { status, stderr } = runChild('{');
    assert.equal(status, 2);
    assert.match(stderr, /^Error: task file is not JSON: .*\n$/);
  });

  it('ends with exit code 1 when the fault is not in the input', () => {
    // A file where the output folder should be is a fault of whoever set up the task.
    const task = taskOf({ pipeline, dataset });
    const { status, stderr } = runChild(task, 'task.json');
    assert.equal(status, 1);
    assert.match(stderr, /^Error: .*EEXIST/);
  });

  it('is described by its library, a command and the versions of the packages it calculates with', () => {
    assert.equal(mljsRunner.library, 'mljs');
    const name = 'ml-savitzky-golay-generalized';
    const manifest = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
    assert.equal(mljsRunner.packages[name], JSON.parse(readFileSync(manifest, 'utf8')).version);
  });
});
