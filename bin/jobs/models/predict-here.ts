import { extname } from 'node:path';
import { InputError } from '../../../actors/worker/errors.ts';
import { type Prediction, predictDataset } from '../../../actors/worker/runners/mljs/predict.ts';
import { parsePrediction } from '../../../actors/worker/runners/mljs/task.ts';
import { usageError } from '../../cli/exit.ts';
import { localError } from '../../cli/local-error.ts';

/**
 * Predicts with a model file of mljs on this machine, as its runner would.
 * @throws CliError with what the runner would end with
 */
export function predictHere(model: string, dataset: string, params: Record<string, unknown>): Prediction {
  if (extname(model).toLowerCase() === '.n4a') {
    throw usageError(
      `${model} is a bundle of nirs4all, which takes its Python; --local predicts with models of mljs`,
      `in Python: nirs4all.predict(model="${model}", data=X), or leave --local out`,
    );
  }
  const at = (path: string) => ({ mode: 'path', path });
  try {
    return predictDataset(parsePrediction({ model: at(model), dataset: at(dataset), params }));
  } catch (error) {
    if (error instanceof InputError) throw usageError(error.message);
    const local = localError(error);
    throw local === undefined ? error : usageError(`cannot read ${local}`);
  }
}
