import { InputError } from '../../errors.ts';
import type { MadeBy } from '../about-model.ts';
import { didYouMean } from './did-you-mean.ts';
import { readText } from './files.ts';
import { isMapping, type Mapping, show, wholeNumber } from './options.ts';
import { MAX_SEED } from './random.ts';

/** A task as the worker hands it over, after checking. */
export interface Task {
  /** Path of the pipeline file. */
  pipeline: string;
  /** Path of the dataset folder; none where the pipeline is only to be expanded. */
  dataset: string;
  /** So many variants of the pipeline are to be listed at most, and nothing is run; null: it is run. */
  expandAtMost: number | null;
  /** Whether a model is fitted after cross-validation; null: it is, and validated as the pipeline alone says. */
  refit: boolean | null;
  randomState: number;
  /** Whether to write log lines. */
  verbose: boolean;
  exportModel: boolean;
  /** Name of the reference value, where the data has several; null leaves it to the data. */
  target: string | null;
  /** Whether the files of spectra begin with a header; null leaves it to the data. */
  header: boolean | null;
  /** Which task of which job it is; null where no worker says it. */
  madeBy: MadeBy | null;
  /** Things that were ignored and that the user may want to know. */
  warnings: string[];
}

/** What is to be predicted, and how it is to be read. */
export interface PredictionTask {
  /** Path of the model file. */
  model: string;
  /** Path of the dataset, a folder or a file. */
  dataset: string;
  /** Name of the reference value, where the data has several. */
  target: string | null;
  header: boolean | null;
  /** Whether spectra on another axis are interpolated. */
  interpolate: boolean;
  /** Things that were ignored and that the user may want to know. */
  warnings: string[];
}

const PREDICT_PARAMS = ['verbose', 'target', 'header', 'interpolate'];
const PARAMS = ['random_state', 'verbose', 'target', 'header', 'refit'];

/**
 * The content of a task file.
 *
 * @throws InputError if it is missing or not JSON
 */
export function readTaskFile(path: string): unknown {
  const text = readText(path, 'task file');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError(`task file is not JSON: ${(error as Error).message}`);
  }
}

/**
 * Checks the content of a task file.
 *
 * @throws InputError if it asks for something this runner cannot do
 */
export function parseTask(content: unknown): Task {
  if (!isMapping(content)) throw new InputError(`task file must hold an object, got ${show(content)}`);
  const params = section(content, 'params');
  const outputs = section(content, 'outputs');
  const warnings = unknownParams(params, PARAMS);
  const exportModel = outputs.export_best_model ?? true;
  if (typeof exportModel !== 'boolean') {
    throw new InputError(`outputs.export_best_model must be true or false, got ${show(exportModel)}`);
  }
  const { at_most: atMost = null } = section(content, 'expand');
  return {
    pipeline: pathOf(content, 'pipeline'),
    dataset: atMost === null ? pathOf(content, 'dataset') : '',
    expandAtMost: atMost === null ? null : wholeNumber('expand.at_most', atMost, 1),
    refit: flagOf('refit', params.refit ?? null),
    randomState: wholeNumber('params.random_state', params.random_state ?? 0, 0, MAX_SEED),
    verbose: isVerbose(params),
    exportModel,
    target: targetOf(params.target ?? null),
    header: flagOf('header', params.header ?? null),
    madeBy: madeBy(content),
    warnings,
  };
}

/** Whether a task is to predict with a model. */
export const isPrediction = (content: unknown): content is Mapping =>
  isMapping(content) && content.model != null;

/** Checks the content of a task file that names a model, as {@link parseTask} does that of others. */
export function parsePrediction(content: Mapping): PredictionTask & { verbose: boolean } {
  const params = section(content, 'params');
  return {
    model: pathOf(content, 'model'),
    dataset: pathOf(content, 'dataset'),
    target: targetOf(params.target ?? null),
    header: flagOf('header', params.header ?? null),
    interpolate: flagOf('interpolate', params.interpolate ?? null) ?? false,
    verbose: isVerbose(params),
    warnings: unknownParams(params, PREDICT_PARAMS),
  };
}

const unknownParams = (params: Mapping, known: readonly string[]): string[] =>
  Object.keys(params)
    .filter((name) => !known.includes(name))
    .map((name) => `unknown parameter "${name}" ignored${didYouMean(name, known)}`);

function isVerbose({ verbose }: Mapping): boolean {
  const level = typeof verbose === 'boolean' ? Number(verbose) : (verbose ?? 1);
  return wholeNumber('params.verbose', level, 0) > 0;
}

/** Who runs the command by hand says nothing of it. */
function madeBy(content: Mapping): MadeBy | null {
  const { job_id, task_id, attempt } = section(content, 'task');
  const isSaid = typeof job_id === 'string' && typeof task_id === 'string' && typeof attempt === 'number';
  return isSaid ? { job_id, task_id, attempt } : null;
}

export function targetOf(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  throw new InputError(`params.target must be the name of a column, got ${show(value)}`);
}

export function flagOf(name: string, value: unknown): boolean | null {
  if (value === null || typeof value === 'boolean') return value;
  throw new InputError(`params.${name} must be true or false, got ${show(value)}`);
}

function section(content: Mapping, name: string): Mapping {
  const value = content[name] ?? {};
  if (!isMapping(value)) throw new InputError(`${name} must be an object, got ${show(value)}`);
  return value;
}

function pathOf(content: Mapping, name: 'pipeline' | 'model' | 'dataset'): string {
  const { mode, path } = section(content, name);
  if (mode === 'entrypoint') {
    throw new InputError(`${name}: mljs.run has no entrypoints; give a ${name} file or inline steps instead`);
  }
  if (mode !== 'path') throw new InputError(`${name}.mode must be "path", got ${show(mode)}`);
  if (typeof path !== 'string' || path === '') {
    throw new InputError(`${name}.path must be a path, got ${show(path)}`);
  }
  return path;
}
