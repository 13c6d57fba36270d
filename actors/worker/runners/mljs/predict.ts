import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Alignment, alignTo, axisOf } from './data/axis-match.ts';
import { writeWhole } from './files.ts';
import { score } from './metrics.ts';
import { loadModel, type Model } from './model.ts';
import { type NewSamples, readNewSamples } from './new-samples.ts';
import { HEADER, lineOf, MOST_PREDICTIONS, PREDICTIONS_FILE } from './predictions.ts';
import type { RunHooks } from './run.ts';
import type { PredictionTask } from './task.ts';

/** Predictions of samples, and how good they are where that is known. */
export interface Prediction {
  model: Model;
  /** `predictions.csv`. */
  csv: string;
  count: number;
  /** How many of the samples have a reference value. */
  measured: number;
  /** Of those; none where there are none. */
  metrics: { rmse?: number; r2?: number | null; mae?: number; bias?: number };
  /** Of each file, how its spectra were brought to the axis of the model. */
  axes: { source: string; how: Alignment['how'] }[];
  warnings: string[];
}

/**
 * Predicts every sample of a dataset with a model file.
 *
 * @throws InputError in one line if the model, the dataset or their combination is at fault
 */
export function predictDataset(task: PredictionTask): Prediction {
  const predictor = loadModel(task.model);
  const { model } = predictor;
  const read = readNewSamples(task.dataset, task, model.target);
  const warnings = [...task.warnings, ...read.warnings];
  const places = { axis: axisOf(model.wavelengths), columns: model.input_columns };
  const samples: { name: string | null; y: number | null; prediction: number }[] = [];
  const axes: Prediction['axes'] = [];
  for (const set of read.sets) {
    const alignment = alignTo(places, { source: set.source, ...placesOf(set) }, task.interpolate);
    if (alignment.warning !== null) warnings.push(alignment.warning);
    axes.push({ source: set.source, how: alignment.how });
    const predicted = predictor.predict(set.x.map(alignment.apply), set.source);
    for (const [i, prediction] of predicted.entries()) {
      samples.push({ name: set.names[i] as string | null, y: set.y[i] as number | null, prediction });
    }
  }
  const lines = samples.map(({ name, y, prediction }, i) =>
    lineOf({
      sample: name ?? String(i + 1),
      partition: 'predicted',
      fold: '',
      y,
      prediction,
      target: model.target,
    }),
  );
  if (lines.length > MOST_PREDICTIONS) {
    warnings.push(
      `${PREDICTIONS_FILE}: ${lines.length - MOST_PREDICTIONS} predictions beyond the first left out`,
    );
  }
  const known = samples.filter((one): one is typeof one & { y: number } => one.y !== null);
  return {
    model,
    csv: `${[HEADER, ...lines.slice(0, MOST_PREDICTIONS)].join('\n')}\n`,
    count: samples.length,
    measured: known.length,
    metrics: known.length === 0 ? {} : metricsOf(known),
    axes,
    warnings,
  };
}

function placesOf({ columns, x }: NewSamples) {
  return { axis: axisOf(columns), columns: x[0]?.length ?? 0 };
}

function metricsOf(known: readonly { y: number; prediction: number }[]): Prediction['metrics'] {
  const scores = score(
    known.map(({ y }) => y),
    known.map(({ prediction }) => prediction),
  );
  const bias = known.reduce((sum, { y, prediction }) => sum + prediction - y, 0) / known.length;
  return { ...scores, bias };
}

/** Runs a task of `mljs.predict`: its predictions go to the output folder; the result is what the result file holds. */
export function runPrediction(task: PredictionTask, outputDir: string, version: string, hooks: RunHooks) {
  const { model, csv, count, measured, metrics, axes, warnings } = predictDataset(task);
  if (model.mljs_version !== version) hooks.log(`the model was made by mljs ${model.mljs_version}`);
  for (const warning of warnings) hooks.log(`warning: ${warning}`);
  mkdirSync(outputDir, { recursive: true });
  writeWhole(join(outputDir, PREDICTIONS_FILE), csv);
  hooks.progress(1, 'done');
  return {
    metrics,
    counts: { num_predictions: count, num_measured: measured },
    extra: {
      model: { version: model.mljs_version, task: model.about?.task ?? null },
      target: model.target,
      axes,
      warnings,
    },
  };
}
