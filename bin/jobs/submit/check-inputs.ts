import { InputError } from '../../../actors/worker/errors.ts';
import type { DatasetReport } from '../../../actors/worker/runners/dataset-report.ts';
import {
  checkDataset,
  checkPipeline,
  type PipelineInput,
} from '../../../actors/worker/runners/mljs/check.ts';
import type { DatasetHints } from '../../../actors/worker/runners/mljs/dataset.ts';
import { parseTask } from '../../../actors/worker/runners/mljs/task.ts';
import { checkDataset as checkWithNirs4all } from '../../../actors/worker/runners/nirs4all/check.ts';
import {
  askInterpreter,
  InterpreterError,
  USUAL_PYTHON,
} from '../../../actors/worker/runners/nirs4all/index.ts';
import { usageError } from '../../cli/exit.ts';
import { localError } from '../../cli/local-error.ts';

/** Inputs of a job that lie on this machine. */
export interface Inputs {
  /** Path of a folder or file. */
  dataset: string;
  pipelines: readonly PipelineInput[];
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
  return toCliError(({ dataset }) => checkWithNirs4all(interpreter.executable, dataset));
}

/** What a runner refuses becomes a CliError with exit code 2 and the same sentence. */
function toCliError(check: Checker): Checker {
  return async (inputs) => {
    try {
      return await check(inputs);
    } catch (error) {
      if (error instanceof InputError) throw usageError(error.message);
      const local = localError(error);
      throw local === undefined ? error : usageError(`cannot read ${local}`);
    }
  };
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
