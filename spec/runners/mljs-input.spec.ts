import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readPipeline } from '../../actors/worker/runners/mljs/pipeline.ts';
import { parseTask } from '../../actors/worker/runners/mljs/task.ts';
import { datasetOf, madeUp, refusesInput as refuses, runHere, scratch, taskOf } from './mljs-support.ts';

const { x, y } = madeUp(10, 6);
const good = datasetOf({ 'train_x.csv': x, 'train_y.csv': y.map((value) => [value]) });
const PLS = { pls: { components: 2 } };

describe('a pipeline file', () => {
  const read = (pipeline: unknown) =>
    readPipeline((taskOf({ pipeline, dataset: good }).pipeline as { path: string }).path);
  const expected = {
    preprocess: [{ name: 'snv' }, { name: 'savitzky_golay', window: 7, polynomial: 2, derivative: 1 }],
    components: [1, 2, 3],
    split: { kind: 'k_fold', folds: 5, shuffle: true, seed: 9 },
  };
  const steps = [
    'snv',
    { savitzky_golay: { window: 7, derivative: 1 } },
    { cross_validation: { folds: 5, seed: 9 } },
    { pls: { components: { from: 1, to: 3 } } },
  ];

  it('is a list of steps, or has it under steps or pipeline, as JSON or YAML', () => {
    const yaml = `# comment
steps:
  - snv:
  - savitzky_golay: {window: 7, derivative: 1}
  - cross_validation: {folds: 5, seed: 9}
  - pls: {components: [3, 1, 2, 2]}
`;
    for (const content of [steps, { steps }, { pipeline: steps, name: 'a' }]) {
      assert.deepEqual(read(content), { source: 'pipeline.json', ...expected });
    }
    assert.deepEqual(read(yaml), { source: 'pipeline.yaml', ...expected });
  });

  const faults: [string, unknown, RegExp][] = [
    ['is empty', ' \n', /^pipeline\.yaml: the file is empty$/],
    ['is not YAML', 'steps: [snv', /^pipeline\.yaml: cannot be parsed: .*line 1/],
    ['has no list', { name: 'a' }, /^pipeline\.json: no list of steps found/],
    ['has an empty list', [], /^pipeline\.json: the list of steps is empty$/],
    ['has steps twice', { steps, pipeline: steps }, /under "steps" or under "pipeline", not both/],
    ['has an unknown key', { stepz: steps }, /unknown option "stepz" \(did you mean "steps"\?\)/],
    ['has no pls step', ['snv'], /^pipeline\.json: the pipeline has no pls step$/],
    ['has an unknown step', ['snv', { plz: {} }], /step 2: unknown step "plz" \(did you mean "pls"\?\)/],
    [
      'has a step whose name is similar to none',
      ['random_forest', PLS],
      /step 1: unknown step "random_forest"; steps are snv,/,
    ],
    ['has a step with the name of an object member', ['constructor'], /unknown step "constructor"/],
    ['has two steps in one entry', [{ snv: {}, ...PLS }], /step 1: one step per list entry/],
    ['has an entry that is no step', [7], /step 1: expected a step name .* got 7$/],
    ['has two pls steps', [PLS, PLS], /step 2 \(pls\): only one pls step/],
    ['preprocesses after pls', [PLS, 'msc'], /step 2 \(msc\): preprocessing must come before pls$/],
    ['passes options to snv', [{ snv: { window: 5 } }, PLS], /step 1 \(snv\): unknown option "window"/],
    ['passes no mapping', [{ pls: 5 }], /step 1 \(pls\): options must be a mapping, got 5$/],
    ['has no components', ['pls'], /step 1 \(pls\): components is missing/],
    ['has 0 components', [{ pls: { components: 0 } }], /components must be a whole number .* got 0$/],
    ['has half a component', [{ pls: { components: [1, 2.5] } }], /components must be .* got 2\.5$/],
    ['has an empty component list', [{ pls: { components: [] } }], /components must not be an empty list/],
    ['has a falling range', [{ pls: { components: { from: 3, to: 2 } } }], /to must be .* 3 .* got 2$/],
    ['has an even window', [{ savitzky_golay: { window: 6 } }, PLS], /window must be an odd .* got 6$/],
    ['has a window of 3', [{ savitzky_golay: { window: 3 } }, PLS], /window must be .* at least 5, got 3$/],
    ['has no window', ['savitzky_golay', PLS], /\(savitzky_golay\): window must be .* got undefined$/],
    [
      'has a degree as large as the window',
      [{ savitzky_golay: { window: 5, polynomial: 5 } }, PLS],
      /polynomial must be a whole number from 1 to 4, got 5$/,
    ],
    [
      'derives beyond the degree',
      [{ savitzky_golay: { window: 5, polynomial: 2, derivative: 3 } }, PLS],
      /derivative must be a whole number from 0 to 2, got 3$/,
    ],
    ['has a single fold', [{ cross_validation: { folds: 1 } }, PLS], /folds must be .* at least 2, got 1$/],
    ['validates without saying how', ['cross_validation', PLS], /either folds or leave_one_out: true$/],
    [
      'has folds and leave-one-out',
      [{ cross_validation: { folds: 3, leave_one_out: true } }, PLS],
      /leave_one_out and folds exclude one another$/,
    ],
    [
      'has a seed for no shuffle',
      [{ cross_validation: { folds: 3, shuffle: false, seed: 1 } }, PLS],
      /seed has no effect with shuffle: false$/,
    ],
    [
      'shuffles maybe',
      [{ cross_validation: { folds: 3, shuffle: 'maybe' } }, PLS],
      /shuffle must be true or false, got "maybe"$/,
    ],
  ];
  for (const [title, pipeline, message] of faults) {
    it(`is refused if it ${title}`, () => refuses(() => read(pipeline), message));
  }

  it('is refused if it is missing or a folder', () => {
    refuses(() => readPipeline('/nowhere/a.yaml'), /^pipeline file not found: \/nowhere\/a\.yaml$/);
    refuses(() => readPipeline(good), /^pipeline file is a directory, not a file: /);
  });
});

describe('a pipeline on a dataset', () => {
  const faults: [string, unknown[], RegExp][] = [
    [
      'needs as many columns as its window',
      [{ savitzky_golay: { window: 7 } }, PLS],
      /^pipeline\.json: savitzky_golay: window 7 exceeds the 6 columns$/,
    ],
    [
      'needs as many rows as folds',
      [{ cross_validation: { folds: 11 } }, PLS],
      /^pipeline\.json: cross_validation: 11 folds but only 10 rows$/,
    ],
    [
      'has no more components than columns',
      [{ pls: { components: [2, 7] } }],
      /^pipeline\.json: pls: 7 components asked for, 6 possible with 9 rows to fit on and 6 columns$/,
    ],
    [
      'has fewer components than rows in the smallest training part',
      [{ cross_validation: { folds: 2 } }, { pls: { components: 5 } }],
      /^pipeline\.json: pls: 5 components asked for, 4 possible with 5 rows to fit on/,
    ],
  ];
  for (const [title, pipeline, message] of faults) {
    it(title, () => refuses(() => runHere({ pipeline, dataset: good }), message));
  }

  it('names file and row of a spectrum that a step cannot treat', () => {
    const flat = x.map((row, i) => (i === 7 ? row.map(() => 1) : row));
    const dataset = datasetOf({ 'train_x.csv': flat, 'train_y.csv': y.map((value) => [value]) });
    const run = () => runHere({ pipeline: ['snv', PLS], dataset });
    refuses(run, /^train_x\.csv: data row 8: snv: the spectrum is constant$/);
  });

  it('names the test file for a test spectrum', () => {
    const values = { 'train_x.csv': x, 'train_y.csv': y.map((value) => [value]) };
    const dataset = datasetOf({ ...values, 'test_x.csv': [[1, 1, 1, 1, 1, 1]], 'test_y.csv': [[1]] });
    refuses(() => runHere({ pipeline: ['snv', PLS], dataset }), /^test_x\.csv: data row 1: snv: /);
  });
});

describe('a task file', () => {
  const task = taskOf({ pipeline: [PLS], dataset: good });

  it('has random_state 0, log lines and export unless it says otherwise', () => {
    const { outputs, params, ...rest } = task;
    const { randomState, verbose, exportModel } = parseTask(rest);
    assert.deepEqual(
      { randomState, verbose, exportModel },
      { randomState: 0, verbose: true, exportModel: true },
    );
  });

  const faults: [string, unknown, RegExp][] = [
    ['holds no object', [], /^task file must hold an object/],
    [
      'asks for an entrypoint',
      { pipeline: { mode: 'entrypoint' } },
      /^pipeline: mljs\.run has no entrypoints/,
    ],
    ['has another mode', { dataset: { mode: 'catalog' } }, /^dataset\.mode must be "path", got "catalog"$/],
    ['has no path', { dataset: { mode: 'path' } }, /^dataset\.path must be a path, got undefined$/],
    ['has params that are no object', { params: 3 }, /^params must be an object, got 3$/],
    ['has a bad seed', { params: { random_state: -1 } }, /^params\.random_state must be .* got -1$/],
    ['has a bad verbosity', { params: { verbose: 'loud' } }, /^params\.verbose must be .* got "loud"$/],
    ['has a bad flag', { outputs: { export_best_model: 'yes' } }, /^outputs\.export_best_model must be true/],
  ];
  for (const [title, change, message] of faults) {
    it(`is refused if it ${title}`, () => {
      const content = Array.isArray(change) ? change : { ...task, ...(change as object) };
      refuses(() => parseTask(content), message);
    });
  }

  it('is refused if pipeline file or dataset folder are missing', () => {
    const gone = scratch();
    rmSync(gone, { recursive: true });
    refuses(() => runHere({ pipeline: [PLS], dataset: join(gone, 'data') }), /^dataset not found: /);
  });
});
