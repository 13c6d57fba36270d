import { InputError } from '../../errors.ts';
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
  /** Things that were ignored and that the user may want to know. */
  warnings: string[];
}

const PARAMS = ['random_state', 'verbose', 'target', 'header', 'refit'];

/**
 * Reads and checks a task file.
 *
 * @throws InputError if it is missing, not JSON or asks for something this runner cannot do
 */
export function readTask(path: string): Task {
  const text = readText(path, 'task file');
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new InputError(`task file is not JSON: ${(error as Error).message}`);
  }
  return parseTask(content);
}

/** Checks the content of a task file; see {@link readTask}. */
export function parseTask(content: unknown): Task {
  if (!isMapping(content)) throw new InputError(`task file must hold an object, got ${show(content)}`);
  const params = section(content, 'params');
  const outputs = section(content, 'outputs');
  const warnings = Object.keys(params)
    .filter((name) => !PARAMS.includes(name))
    .map((name) => `unknown parameter "${name}" ignored${didYouMean(name, PARAMS)}`);
  const exportModel = outputs.export_best_model ?? true;
  if (typeof exportModel !== 'boolean') {
    throw new InputError(`outputs.export_best_model must be true or false, got ${show(exportModel)}`);
  }
  const verbose = typeof params.verbose === 'boolean' ? Number(params.verbose) : (params.verbose ?? 1);
  const { at_most: atMost = null } = section(content, 'expand');
  return {
    pipeline: pathOf(content, 'pipeline'),
    dataset: atMost === null ? pathOf(content, 'dataset') : '',
    expandAtMost: atMost === null ? null : wholeNumber('expand.at_most', atMost, 1),
    refit: flagOf('refit', params.refit ?? null),
    randomState: wholeNumber('params.random_state', params.random_state ?? 0, 0, MAX_SEED),
    verbose: wholeNumber('params.verbose', verbose, 0) > 0,
    exportModel,
    target: targetOf(params.target ?? null),
    header: flagOf('header', params.header ?? null),
    warnings,
  };
}

function targetOf(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  throw new InputError(`params.target must be the name of a column, got ${show(value)}`);
}

function flagOf(name: string, value: unknown): boolean | null {
  if (value === null || typeof value === 'boolean') return value;
  throw new InputError(`params.${name} must be true or false, got ${show(value)}`);
}

function section(content: Mapping, name: string): Mapping {
  const value = content[name] ?? {};
  if (!isMapping(value)) throw new InputError(`${name} must be an object, got ${show(value)}`);
  return value;
}

function pathOf(content: Mapping, name: 'pipeline' | 'dataset'): string {
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
