import { InputError } from '../../errors.ts';
import { type AboutModel, type MadeBy, unitIn } from '../about-model.ts';
import { axisOf } from './data/axis-match.ts';
import type { Dataset } from './dataset.ts';
import { readText, writeJson } from './files.ts';
import { isMapping, type Mapping } from './options.ts';
import { fitPls, predictRow } from './pls.ts';
import { applySteps, type FittedStep, fitSteps, type PreprocessStep } from './preprocess.ts';

const FORMAT = 'mljs.run model';
const FORMAT_VERSION = 1;

/** Everything needed to predict from raw spectra; plain data, written as best_model.json. */
export interface Model {
  format: typeof FORMAT;
  format_version: typeof FORMAT_VERSION;
  mljs_version: string;
  /** Number of values a spectrum must have. */
  input_columns: number;
  /** Column names of the training spectra as written in the header row, or null. */
  wavelengths: string[] | null;
  /** Name of the predicted value, or null. */
  target: string | null;
  training_rows: number;
  steps: FittedStep[];
  components: number;
  /** Coefficients of the preprocessed spectrum, and the intercept, in the unit of the reference values. */
  coefficients: number[];
  intercept: number;
  metrics: Record<string, unknown>;
  /** The same and more, as the models of all libraries say it; those of earlier versions do not. */
  about?: AboutModel;
}

/** What a loaded model can do. */
export interface Predictor {
  model: Model;
  /**
   * Predicts the reference value of raw spectra, one per row.
   *
   * @param source how messages call the spectra
   * @throws InputError if a row has another number of values than the training spectra, or is not finite
   */
  predict(rows: number[][], source?: string): number[];
}

/**
 * Fits preprocessing and PLS on all training rows of a dataset.
 *
 * @param components number of PLS components
 * @param metrics validation metrics to store with the model
 */
export function fitModel(
  dataset: Dataset,
  preprocess: readonly PreprocessStep[],
  components: number,
  about: { mljs_version: string; metrics: Record<string, unknown> },
): Model {
  const { source, x, y } = dataset.train;
  const { fitted, rows } = fitSteps(preprocess, x, source);
  const fit = fitPls(rows, y, components, source);
  return {
    format: FORMAT,
    format_version: FORMAT_VERSION,
    mljs_version: about.mljs_version,
    input_columns: (x[0] as number[]).length,
    wavelengths: dataset.columns,
    target: dataset.target,
    training_rows: x.length,
    steps: fitted,
    components,
    coefficients: fit.coefficients[components - 1] as number[],
    intercept: fit.intercepts[components - 1] as number,
    metrics: about.metrics,
  };
}

/** Makes a predictor of a model. */
export function predictor(model: Model): Predictor {
  return {
    model,
    predict: (rows, source = 'spectra') => {
      rows.forEach((row, i) => {
        if (row.length !== model.input_columns) {
          const expected = `the model expects ${model.input_columns}`;
          throw new InputError(`${source}: data row ${i + 1} has ${row.length} values, ${expected}`);
        }
        if (!row.every(Number.isFinite)) {
          throw new InputError(`${source}: data row ${i + 1} has a value that is not a finite number`);
        }
      });
      const treated = applySteps(model.steps, rows, source);
      return treated.map((row) => predictRow(row, model.coefficients, model.intercept));
    },
  };
}

/** Whether a file has what predicting needs. */
function isWhole(content: Mapping): content is Mapping & Model {
  const { coefficients, steps, intercept, input_columns: columns } = content;
  return (
    Array.isArray(steps) &&
    Array.isArray(coefficients) &&
    coefficients.length === columns &&
    [...coefficients, intercept].every(Number.isFinite)
  );
}

/** What a model says of itself, as those of all libraries do. */
export function aboutModel(
  model: Model,
  { task, sha256 }: { task: MadeBy | null; sha256: string },
): AboutModel {
  const numbers = Object.entries(model.metrics).filter(
    (entry): entry is [string, number | null] => entry[1] === null || typeof entry[1] === 'number',
  );
  return {
    library: 'mljs',
    version: model.mljs_version,
    model: `PLS regression, ${model.components} component${model.components === 1 ? '' : 's'}`,
    preprocessing: model.steps.map(stepInWords),
    axis: axisOf(model.wavelengths),
    columns: model.input_columns,
    targets: [{ name: model.target, unit: unitIn(model.target) }],
    training: { samples: model.training_rows, sha256 },
    task,
    metrics: Object.fromEntries(numbers),
  };
}

/** A step with its settings, as people read it. */
export function stepInWords(step: FittedStep): string {
  if (step.name !== 'savitzky_golay') return step.name;
  const { window, polynomial, derivative } = step;
  return `savitzky_golay (window ${window}, polynomial ${polynomial}, derivative ${derivative})`;
}

/** Writes a model as JSON, whole or not at all. */
export function saveModel(path: string, model: Model): void {
  writeJson(path, model);
}

/**
 * Loads a model that {@link saveModel} wrote. JSON keeps every digit, so its predictions equal those of the
 * process that fitted it.
 *
 * @throws InputError if the file is missing or holds no model of this format
 */
export function loadModel(path: string): Predictor {
  const text = readText(path, 'model file');
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new InputError(`${path}: is not JSON`);
  }
  if (!isMapping(content) || content.format !== FORMAT)
    throw new InputError(`${path}: is not a model of mljs.run`);
  if (content.format_version !== FORMAT_VERSION) {
    throw new InputError(`${path}: model format version ${String(content.format_version)} is not supported`);
  }
  if (!isWhole(content)) throw new InputError(`${path}: this model of mljs.run is not complete`);
  return predictor(content);
}
