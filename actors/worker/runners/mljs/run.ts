import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { InputError } from '../../errors.ts';
import { dataHash } from '../data-hash.ts';
import { type Dataset, readDataset } from './dataset.ts';
import { bestOf, crossValidate, type Evaluation } from './evaluate.ts';
import { writeJson, writeWhole } from './files.ts';
import { defaultSplit, type Fold, foldCount, makeFolds, type Split, smallestTraining } from './folds.ts';
import { type Scores, score } from './metrics.ts';
import { aboutModel, fitModel, type Model, predictor, saveModel } from './model.ts';
import { type Pipeline, readPipeline } from './pipeline.ts';
import {
  CURVES_FILE,
  componentCurves,
  PREDICTIONS_FILE,
  type Predicted,
  predictionsCsv,
} from './predictions.ts';
import { fitSteps } from './preprocess.ts';
import { PREPROCESSED_FILE, SPECTRA_FILE, spectraFiles } from './spectra.ts';
import type { Task } from './task.ts';

/** File name of the exported model in the output folder. */
export const MODEL_FILE = 'best_model.json';

/** Where a run reports to while it works. */
export interface RunHooks {
  log(line: string): void;
  /** @param fraction work done, 0 to 1, never falling */
  progress(fraction: number, message: string): void;
}

/** What a run found; the runner's result file is this plus status, version and duration. */
export interface RunResult {
  metrics: {
    /** The same as best_rmse: the number that the choice of components minimises. */
    best_score: number;
    best_rmse: number;
    best_r2: number | null;
    best_mae: number;
    /** Always null: this is regression. */
    best_accuracy: null;
    /** In cross-validation, where there is one, whatever `best_*` are measured on. */
    cv_rmse?: number;
    cv_r2?: number | null;
    cv_mae?: number;
    /** Of the test rows, where there are some, by the model that was fitted on all training rows. */
    test_rmse?: number;
    test_r2?: number | null;
    test_mae?: number;
    /** Of the model. */
    components: number;
  };
  /** num_predictions: rows predicted by a model that was not fitted on them, over all component counts. */
  counts: { num_predictions: number };
  extra: Record<string, unknown>;
}

const SHARE_OF_FOLDS = 0.95;
const format = ({ rmse, r2 }: Scores): string => `RMSE ${rmse.toPrecision(4)} R2 ${r2?.toFixed(4) ?? '-'}`;

/**
 * Runs a task: validates the pipeline on the dataset, chooses the number of components, fits the chosen
 * model on all training rows, and writes to the output folder what was predicted and, if asked to, the model.
 *
 * The number of components is chosen by cross-validation on training rows (leave-one-out or 10 folds if the
 * pipeline names none), never on the test rows: the metrics on those would not be an estimate any more. The
 * metrics are those of a cross_validation step if there is one, else those on the test rows if there are any,
 * else those of the default cross-validation.
 *
 * @param outputDir folder for what is kept; made if missing
 * @throws InputError in one line if pipeline, dataset or their combination is at fault
 */
export function runTask(task: Task, outputDir: string, version: string, hooks: RunHooks): RunResult {
  for (const warning of task.warnings) hooks.log(`warning: ${warning}`);
  const pipeline = readPipeline(task.pipeline);
  const dataset = readDataset(task.dataset, task);
  for (const warning of dataset.warnings) hooks.log(`warning: ${warning}`);
  const { train, test } = dataset;
  const { split, reported, choosing } = planValidation(pipeline, dataset, task.refit);
  hooks.log(
    `${train.y.length} training rows, ${test?.y.length ?? 0} test rows, ${train.x[0]?.length} columns; ${reported}`,
  );

  const validation = choosing ? validate(task, pipeline, dataset, split, hooks) : null;
  const validated = validation?.evaluation ?? null;
  const chosen = validated ? bestOf(validated.scores) : null;
  const components = chosen?.components ?? (pipeline.components[0] as number);
  const model =
    task.refit === false
      ? null
      : fitModel(dataset, pipeline.preprocess, components, { mljs_version: version, metrics: {} });
  const predicted = model && test ? predictor(model).predict(test.x, test.source) : null;
  const tested = predicted && test ? score(test.y, predicted) : null;
  if (tested) hooks.log(`test rows, components ${components}: ${format(tested)}`);
  const best = (reported === 'test_set' ? tested : chosen) as Scores;
  const metrics = {
    best_score: best.rmse,
    best_rmse: best.rmse,
    best_r2: best.r2,
    best_mae: best.mae,
    best_accuracy: null,
    ...(chosen && { cv_rmse: chosen.rmse, cv_r2: chosen.r2, cv_mae: chosen.mae }),
    ...(tested && { test_rmse: tested.rmse, test_r2: tested.r2, test_mae: tested.mae }),
    components,
  };
  if (model) hooks.progress(SHARE_OF_FOLDS, `fitted ${components} components on all training rows`);
  mkdirSync(outputDir, { recursive: true });
  const place = chosen && validated ? validated.scores.indexOf(chosen) : 0;
  const told = validation && { ...validation, chosen: place };
  savePredictions({ dataset, validated: told, tested: predicted }, outputDir, hooks);
  saveSpectra(dataset, model, outputDir);
  if (model && task.exportModel) {
    const whole = { ...model, metrics: { validation: reported, ...metrics } };
    const about = aboutModel(whole, { task: task.madeBy, sha256: dataHash(task.dataset) });
    saveModel(join(outputDir, MODEL_FILE), { ...whole, about });
  }
  const heldOut = validated ? train.y.length * validated.scores.length : 0;
  hooks.progress(1, 'done');
  return {
    metrics,
    counts: { num_predictions: heldOut + (tested && test ? test.y.length : 0) },
    extra: {
      best_components: components,
      validation: reported,
      components_chosen_by: choosing ? describeSplit(split, train.y.length, task.randomState) : null,
      component_scores: validated?.scores ?? [{ components, ...best }],
      baseline_rmse: validated?.baseline.rmse ?? null,
      test: tested,
      steps: [...pipeline.preprocess.map((step) => step.name), 'pls'],
      rows: { train: train.y.length, test: test?.y.length ?? 0 },
      columns: train.x[0]?.length,
      model_file: model && task.exportModel ? MODEL_FILE : null,
      target: dataset.target,
      warnings: [...task.warnings, ...dataset.warnings],
    },
  };
}

/** How a pipeline is validated on a dataset. */
export interface Plan {
  split: Split;
  /** What the `best_*` metrics are measured on. */
  reported: Split['kind'] | 'test_set';
  /** Whether cross-validation is needed at all. */
  choosing: boolean;
}

/**
 * @param refit whether a model is to be fitted after it was compared with others elsewhere: where that is said, there
 * is cross-validation in any case, and without a refit nothing else
 * @throws InputError where the pipeline does not fit the dataset
 */
export function planValidation(pipeline: Pipeline, dataset: Dataset, refit: boolean | null = null): Plan {
  const split = pipeline.split ?? defaultSplit(dataset.train.y.length);
  const reported = pipeline.split || !dataset.test || refit === false ? split.kind : 'test_set';
  const choosing = reported !== 'test_set' || pipeline.components.length > 1 || refit !== null;
  checkFit(pipeline, dataset, choosing ? split : null);
  return { split, reported, choosing };
}

function validate(
  task: Task,
  pipeline: Pipeline,
  dataset: Dataset,
  split: Split,
  hooks: RunHooks,
): { evaluation: Evaluation; folds: Fold[] } {
  const folds = makeFolds(dataset.train.y.length, split, task.randomState);
  const evaluation = crossValidate(dataset.train, pipeline, folds, (done) =>
    hooks.progress((SHARE_OF_FOLDS * done) / folds.length, `fold ${done}/${folds.length}`),
  );
  for (const scores of evaluation.scores) hooks.log(`components ${scores.components}: ${format(scores)}`);
  return { evaluation, folds };
}

function savePredictions(predicted: Predicted, outputDir: string, { log }: RunHooks): void {
  const { text, leftOut } = predictionsCsv(predicted);
  if (leftOut > 0) log(`warning: ${PREDICTIONS_FILE}: ${leftOut} predictions beyond the first left out`);
  writeWhole(join(outputDir, PREDICTIONS_FILE), text);
  const curves = predicted.validated && componentCurves(predicted.validated);
  if (curves) writeJson(join(outputDir, CURVES_FILE), curves);
}

function saveSpectra(dataset: Dataset, model: Model | null, outputDir: string): void {
  const { raw, preprocessed } = spectraFiles(dataset, model);
  writeWhole(join(outputDir, SPECTRA_FILE), raw);
  if (preprocessed) writeWhole(join(outputDir, PREPROCESSED_FILE), preprocessed);
}

function describeSplit(split: Split, rows: number, randomState: number): Record<string, unknown> {
  if (split.kind === 'leave_one_out') return { kind: split.kind, folds: rows };
  const { kind, folds, shuffle, seed } = split;
  return { kind, folds, shuffle, seed: shuffle ? (seed ?? randomState) : null };
}

/** Finds before the first fold what would fail in one of them, so that messages name the rows of the file. */
function checkFit(pipeline: Pipeline, { train }: Dataset, split: Split | null): void {
  const rows = train.y.length;
  const columns = (train.x[0] as number[]).length;
  const { source } = pipeline;
  for (const step of pipeline.preprocess) {
    if (step.name === 'savitzky_golay' && step.window > columns) {
      throw new InputError(`${source}: savitzky_golay: window ${step.window} exceeds the ${columns} columns`);
    }
  }
  if (split && foldCount(rows, split) > rows) {
    throw new InputError(
      `${source}: cross_validation: ${foldCount(rows, split)} folds but only ${rows} rows`,
    );
  }
  const fitted = split ? smallestTraining(rows, split) : rows;
  const possible = Math.max(0, Math.min(fitted - 1, columns));
  const largest = Math.max(...pipeline.components);
  if (largest > possible) {
    const reason = `${fitted} rows to fit on and ${columns} columns`;
    throw new InputError(
      `${source}: pls: ${largest} components asked for, ${possible} possible with ${reason}`,
    );
  }
  fitSteps(pipeline.preprocess, train.x, train.source);
}
