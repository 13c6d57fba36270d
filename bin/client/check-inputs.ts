import type { DatasetReport } from '../../actors/agent/runners/dataset-report.ts';
import { checkDataset, checkPipeline, type PipelineInput } from '../../actors/agent/runners/mljs/check.ts';
import type { DatasetHints } from '../../actors/agent/runners/mljs/dataset.ts';
import { InputFault } from '../../actors/agent/runners/mljs/fault.ts';
import { parseTask } from '../../actors/agent/runners/mljs/task.ts';
import { usageFault } from '../support/exit.ts';
import { localFault } from '../support/local-fault.ts';

/** Inputs of a job that lie on this machine. */
export interface Inputs {
  library: string;
  /** Path of a folder or file. */
  dataset: string;
  pipelines: readonly PipelineInput[];
  params: Readonly<Record<string, unknown>>;
}

/** Whether datasets for a library can be looked at here. */
export const canCheck = (library: string): boolean => library === 'mljs';

/**
 * Looks at a dataset, and whether pipelines fit it, as the runner of the library would.
 * @throws CliFault (exit code 2) with the sentence that the run would end with
 */
export function checkInputs({ library, dataset, pipelines, params }: Inputs): DatasetReport {
  if (!canCheck(library)) {
    throw usageFault(`datasets of ${library} cannot be looked at here`, 'jqctl check knows mljs');
  }
  try {
    return checkDataset(dataset, hintsOf(params), pipelines.map(checkPipeline));
  } catch (fault) {
    if (fault instanceof InputFault) throw usageFault(fault.message);
    const local = localFault(fault);
    throw local === undefined ? fault : usageFault(`cannot read ${local}`);
  }
}

/** Params as the runner checks them; what it ignores is told when the job runs. */
function hintsOf(params: Readonly<Record<string, unknown>>): DatasetHints {
  const path = { mode: 'path', path: '-' };
  return parseTask({ pipeline: path, dataset: path, params });
}
