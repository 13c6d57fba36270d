import { type DatasetReport, SHOWN_SPECTRA, spread } from '../dataset-report.ts';
import { areNumbered } from './data/axis.ts';
import { axisOf } from './data/axis-match.ts';
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
  const axis = axisOf(columns);
  return {
    library: 'mljs',
    samples: train.y.length,
    test_samples: test?.y.length ?? 0,
    variables: (train.x[0] as number[]).length,
    axis: axis && {
      from: axis.values[0] as number,
      to: axis.values.at(-1) as number,
      unit: axis.unit,
    },
    targets: [{ name: target, ...rangeOf(train.y) }],
    warnings: [...warnings, ...aboutColumns(train.source, columns)],
    spectra: spread(train.x, SHOWN_SPECTRA),
  };
}

function aboutColumns(source: string, columns: readonly string[] | null): string[] {
  if (columns === null || !areNumbered(columns)) return [];
  return [
    `${source}: its columns are only numbered (${columns[0]} to ${columns.at(-1)}) and say no wavelengths; what is to be predicted later is then held against the model by the number of columns alone`,
  ];
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
