import { readdirSync, statSync } from 'node:fs';
import { isLeftover } from '../../../actors/shared/file-names.ts';
import { InputError } from '../../../actors/worker/errors.ts';
import type { DatasetReport } from '../../../actors/worker/runners/dataset-report.ts';
import {
  checkDataset,
  checkPipeline,
  type PipelineInput,
} from '../../../actors/worker/runners/mljs/check.ts';
import { alignTo, axisOf } from '../../../actors/worker/runners/mljs/data/axis-match.ts';
import type { DatasetHints } from '../../../actors/worker/runners/mljs/dataset.ts';
import { readNewSamples } from '../../../actors/worker/runners/mljs/new-samples.ts';
import { parsePrediction, parseTask } from '../../../actors/worker/runners/mljs/task.ts';
import { checkDataset as checkWithNirs4all } from '../../../actors/worker/runners/nirs4all/check.ts';
import {
  askInterpreter,
  InterpreterError,
  USUAL_PYTHON,
} from '../../../actors/worker/runners/nirs4all/index.ts';
import { usageError } from '../../cli/exit.ts';
import { localError } from '../../cli/local-error.ts';
import type { ModelFacts } from '../models/model-facts.ts';
import { isTable } from './local-refs.ts';

/** Inputs of a job that lie on this machine. */
export interface Inputs {
  /** Path of a folder or file. */
  dataset: string;
  pipelines: readonly PipelineInput[];
  params: Readonly<Record<string, unknown>>;
}

/** Spectra on this machine, and what the model that is to predict them says of itself. */
export interface NewInputs {
  dataset: string;
  model: ModelFacts;
  params: Readonly<Record<string, unknown>>;
}

/** Looks at a dataset, and whether pipelines fit it, as the runner of one library would. */
export type Checker = (inputs: Inputs) => Promise<DatasetReport>;

/**
 * The way to look at datasets of a library on this machine; null where there is none, as for nirs4all without a Python
 * that has it.
 */
export async function findChecker(library: string, python = USUAL_PYTHON): Promise<Checker | null> {
  if (library === 'mljs') return toCliError(checkWithMljs);
  if (library !== 'nirs4all') return null;
  const interpreter = await askInterpreter(python).catch((error: unknown) => {
    if (error instanceof InterpreterError) return null;
    throw error;
  });
  if (interpreter?.packages.nirs4all === undefined) return null;
  return toCliError(({ dataset, params }) => checkWithNirs4all(interpreter.executable, dataset, params));
}

/** What a runner refuses becomes a CliError with exit code 2 and the same sentence. */
function toCliError(check: Checker): Checker {
  return async (inputs) => {
    try {
      return await check(inputs);
    } catch (error) {
      throw toUsageError(error);
    }
  };
}

function toUsageError(error: unknown): unknown {
  if (error instanceof InputError) return usageError(error.message);
  const local = localError(error);
  return local === undefined ? error : usageError(`cannot read ${local}`);
}

/**
 * Looks whether spectra go with a model, as its runner would.
 *
 * @returns null where they are not read here: for a model of classes or of several values, or what are no tables
 * @throws CliError with what the runner would end with
 */
export function checkNewSamples({ dataset, model, params }: NewInputs): { samples: number } | null {
  if (!['mljs', 'nirs4all'].includes(model.library)) return null;
  const { targets = [], task_type: type = null, axis = null, columns = null } = model;
  if (targets.length > 1 || (type !== null && type !== 'regression') || !hasTables(dataset)) return null;
  const at = { mode: 'path', path: dataset };
  try {
    // Those that the runners know both; what else there is concerns the library.
    const { target, header, interpolate } = params;
    const task = parsePrediction({ model: at, dataset: at, params: { target, header, interpolate } });
    const { sets } = readNewSamples(dataset, task, targets[0]?.name ?? null);
    for (const { source, x, columns: names } of columns === null ? [] : sets) {
      const places = { source, axis: axisOf(names), columns: (x[0] as number[]).length };
      alignTo({ axis, columns: columns as number }, places, task.interpolate);
    }
    return { samples: sets.reduce((sum, { x }) => sum + x.length, 0) };
  } catch (error) {
    throw toUsageError(error);
  }
}

function hasTables(path: string): boolean {
  if (!statSync(path).isDirectory()) return isTable(path);
  const names = readdirSync(path).filter((name) => !isLeftover(name));
  return names.some(isTable) && !names.some((name) => /^nirs4all\.(ya?ml|json)$/i.test(name));
}

async function checkWithMljs({ dataset, pipelines, params }: Inputs): Promise<DatasetReport> {
  const { warnings, ...hints } = taskOf(params);
  const report = checkDataset(dataset, hints, pipelines.map(checkPipeline));
  return { ...report, warnings: [...warnings, ...report.warnings] };
}

/** Params as the runner checks them, with what it ignores. */
function taskOf(params: Readonly<Record<string, unknown>>): DatasetHints & { warnings: string[] } {
  const path = { mode: 'path', path: '-' };
  return parseTask({ pipeline: path, dataset: path, params });
}
