import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { InputError } from '../../errors.ts';
import { axisOf } from './data/axis-match.ts';
import { type DatasetFiles, findTables, type TableFiles } from './data/files.ts';
import { type Dataset, type DatasetHints, readTables, type Samples } from './dataset.ts';
import { writeJson } from './files.ts';
import { readNewSamples } from './new-samples.ts';
import { isMapping, type Mapping, show } from './options.ts';
import { flagOf, targetOf } from './task.ts';

/** What another runner wants to be read for it. */
export interface Order {
  /** A folder or a file, or the files of a dataset. */
  dataset: string | DatasetFiles;
  /** Folder, which is there, for what was read. */
  to: string;
  hints: DatasetHints;
  /** Whether it is to be predicted, and then what the model calls what it predicts; false for what is to be learned from. */
  predicted: string | null | false;
}

/** File in the folder with what is to be predicted. */
export const NEW_SAMPLES_FILE = 'new-samples.json';

/** @throws InputError if it is no order */
export function parseOrder(text: string): Order {
  const content: unknown = JSON.parse(text);
  if (!isMapping(content)) throw new InputError(`an order must be an object, got ${show(content)}`);
  const { dataset, to, predicted = false } = content;
  if (typeof to !== 'string') throw new InputError(`to must be a folder, got ${show(to)}`);
  const hints = {
    target: targetOf(content.target ?? null),
    header: flagOf('header', content.header ?? null),
  };
  const known = typeof predicted === 'string' || predicted === null || predicted === false;
  return { dataset: datasetIn(dataset), to, hints, predicted: known ? predicted : null };
}

function datasetIn(dataset: unknown): string | DatasetFiles {
  if (typeof dataset === 'string') return dataset;
  const { train, test = null } = isMapping(dataset) ? dataset : ({} as Mapping);
  if (!isMapping(train)) throw new InputError(`dataset must be a path or files, got ${show(dataset)}`);
  return { train: train as TableFiles, test: test as TableFiles | null };
}

/**
 * Reads tables by the rules of README.md for the runner of another library, so that one dataset means the same to all:
 * what is to be learned from is written as `train_x.csv` and `train_y.csv`, `test_x.csv` and `test_y.csv`, delimited by
 * semicolons, with a header and without gaps; what is to be predicted as JSON.
 *
 * @returns what there is to know of it beside the numbers
 * @throws InputError as `readDataset`
 */
export function handOver({ dataset, to, hints, predicted }: Order): object {
  if (predicted !== false) {
    if (typeof dataset !== 'string') throw new InputError('what is to be predicted is named by its path');
    const { sets, warnings } = readNewSamples(dataset, hints, predicted);
    const named = sets.map((set) => ({ ...set, axis: axisOf(set.columns) }));
    writeJson(join(to, NEW_SAMPLES_FILE), named);
    return { warnings };
  }
  const files = typeof dataset === 'string' ? findTables(dataset) : dataset;
  const read = readTables(files, { ...hints, words: true });
  const { classes } = read;
  const sets = { train: read.train, ...(read.test && { test: read.test }) };
  for (const [name, samples] of Object.entries(sets)) {
    writeFileSync(join(to, `${name}_x.csv`), tableOf(headerOf(read), samples.x));
    const values = samples.y.map((value) => [classes.length > 0 ? cell(classes[value] as string) : value]);
    writeFileSync(join(to, `${name}_y.csv`), tableOf([read.target ?? 'y'], values));
  }
  return {
    target: read.target,
    names: Object.values(sets).flatMap(({ names }: Samples) => names),
    warnings: read.warnings,
  };
}

/** Words where the file has no names: a header of numbers might be taken for a spectrum. */
const headerOf = ({ columns, train }: Dataset): string[] =>
  columns ?? (train.x[0] as number[]).map((_, j) => `column ${j + 1}`);

const tableOf = (header: readonly string[], rows: readonly (readonly (number | string)[])[]): string =>
  `${[header.map(cell), ...rows].map((row) => row.join(';')).join('\n')}\n`;

const cell = (text: string): string => (/[";\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
