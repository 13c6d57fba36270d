import { InputError } from '../../errors.ts';
import type { Dataset } from './dataset.ts';
import { readText, writeJson } from './files.ts';
import { isMapping } from './options.ts';
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
}

/** What a loaded model can do. */
export interface Predictor {
  model: Model;
  /**
   * Predicts the reference value of raw spectra, one per row.
   *
   * @throws InputError if a row has another number of values than the training spectra, or is not finite
   */
  predict(rows: number[][]): number[];
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

/** Makes a predictor of a model; `source` is how messages call the spectra. */
export function predictor(model: Model, source = 'spectra'): Predictor {
  return {
    model,
    predict: (rows) => {
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
  return predictor(content as unknown as Model);
}
