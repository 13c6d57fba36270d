import { axisOf } from './data/axis-match.ts';
import type { Dataset } from './dataset.ts';
import { type Model, stepInWords } from './model.ts';
import { applySteps } from './preprocess.ts';

/** File names in the output folder; docs/runners.md#spectra says what they hold. */
export const SPECTRA_FILE = 'spectra.json';
export const PREPROCESSED_FILE = 'preprocessed.json';

/** What is kept for a picture: of more samples, so many spread evenly; of more columns, every second, third and so on. */
export const MOST_SAMPLES = 200;
export const MOST_POINTS = 250;
/** Digits of what was computed; those of the file stand as they are. */
const DIGITS = 6;

type Partition = 'train' | 'test';

/**
 * The spectra of a dataset as they were read, and, where there is a model that does something with them first, as that
 * has made them: texts of files.
 */
export function spectraFiles(
  dataset: Dataset,
  model: Pick<Model, 'steps'> | null,
): { raw: string; preprocessed: string | null } {
  const { train, test, columns } = dataset;
  const all = [
    ...train.x.map((row, i) => ({ row, name: train.names[i] as string, partition: 'train' as Partition })),
    ...(test?.x ?? []).map((row, i) => ({
      row,
      name: test?.names[i] as string,
      partition: 'test' as Partition,
    })),
  ];
  const count = Math.min(MOST_SAMPLES, all.length);
  const kept = Array.from(
    { length: count },
    (_, k) => all[Math.floor((k * all.length) / count)] as (typeof all)[number],
  );
  const width = (train.x[0] as number[]).length;
  const places = spread(width);
  const known = axisOf(columns);
  const about = {
    samples: {
      of: all.length,
      names: kept.map(({ name }) => name),
      partitions: kept.map((one) => one.partition),
    },
    axis: {
      unit: known ? known.unit : 'column',
      of: width,
      values: places.map((j) => known?.values[j] ?? j + 1),
    },
  };
  const textOf = (steps: string[], rows: readonly number[][], written: (value: number) => string) => {
    const lines = rows.map((row) => `[${places.map((j) => written(row[j] as number)).join(',')}]`);
    return `{"steps":${JSON.stringify(steps)},"samples":${JSON.stringify(about.samples)},"axis":${JSON.stringify(about.axis)},"values":[\n${lines.join(',\n')}\n]}\n`;
  };
  const rows = kept.map(({ row }) => row);
  return {
    raw: textOf([], rows, String),
    preprocessed: model?.steps.length
      ? textOf(model.steps.map(stepInWords), applySteps(model.steps, rows, train.source), (value) =>
          value.toPrecision(DIGITS),
        )
      : null,
  };
}

/** The columns that are kept of so many. */
function spread(width: number): number[] {
  const step = Math.ceil(width / MOST_POINTS);
  return Array.from({ length: Math.ceil(width / step) }, (_, k) => k * step);
}
