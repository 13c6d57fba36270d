import { type DatasetReport, SHOWN_SPECTRA, spread } from '../dataset-report.ts';
import { axisPlace } from './data/axis.ts';
import { type DatasetHints, readDataset } from './dataset.ts';
import { type Pipeline, parsePipeline, readPipeline } from './pipeline.ts';
import { planValidation } from './run.ts';

/** A pipeline file, or the steps of one that stands in a job. */
export type PipelineInput = { path: string } | { content: unknown; name: string };

/** @throws InputError where it makes no sense by itself */
export function checkPipeline(input: PipelineInput): Pipeline {
  return 'path' in input ? readPipeline(input.path) : parsePipeline(input.content, input.name);
}

/**
 * Reads a dataset as a run would, and looks whether pipelines fit it.
 *
 * @param path folder or file
 * @throws InputError in one line, as the run would end with
 */
export function checkDataset(
  path: string,
  hints: DatasetHints,
  pipelines: readonly Pipeline[] = [],
): DatasetReport {
  const dataset = readDataset(path, hints);
  for (const pipeline of pipelines) planValidation(pipeline, dataset);
  const { train, test, columns, target, warnings } = dataset;
  const places = (columns ?? []).map(axisPlace);
  const [first, last] = [places[0], places.at(-1)];
  return {
    library: 'mljs',
    samples: train.y.length,
    test_samples: test?.y.length ?? 0,
    variables: (train.x[0] as number[]).length,
    axis: first && last ? { from: first.value, to: last.value, unit: first.unit } : null,
    targets: [{ name: target, ...rangeOf(train.y) }],
    warnings,
    spectra: spread(train.x, SHOWN_SPECTRA),
  };
}

function rangeOf(values: readonly number[]): { min: number; max: number; mean: number } {
  let [min, max, sum] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
  for (const value of values) {
    min = Math.min(min, value);
    max = Math.max(max, value);
    sum += value;
  }
  return { min, max, mean: sum / values.length };
}
