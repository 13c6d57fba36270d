import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { InputFault } from './fault.ts';
import { readTable, type Table } from './table.ts';

/** Spectra (one row per sample) and the reference value of each. */
export interface Samples {
  /** File name of the spectra, used in messages. */
  source: string;
  x: number[][];
  y: number[];
}

/** A dataset folder after reading. */
export interface Dataset {
  train: Samples;
  test: Samples | null;
  /** Column names of train_x.csv (wavelengths, usually), or null without a header row. */
  columns: string[] | null;
  /** Name of the reference value in the header of train_y.csv, or null. */
  target: string | null;
}

/**
 * Reads a dataset folder: train_x.csv and train_y.csv, optionally test_x.csv and test_y.csv.
 *
 * @throws InputFault naming the file if one is missing, unreadable or does not fit the others
 */
export function readDataset(folder: string): Dataset {
  if (!existsSync(folder)) throw new InputFault(`dataset folder not found: ${folder}`);
  if (!statSync(folder).isDirectory()) throw new InputFault(`dataset is not a folder: ${folder}`);
  const trainX = readTable(join(folder, 'train_x.csv'));
  const trainY = readTable(join(folder, 'train_y.csv'), trainX.delimiter);
  const train = pair(trainX, trainY);
  if (train.y.every((value) => value === train.y[0])) {
    throw new InputFault('train_y.csv: all values are the same, there is nothing to learn');
  }
  return {
    train,
    test: readTest(folder, trainX),
    columns: trainX.header,
    target: trainY.header?.[0] ?? null,
  };
}

function pair(x: Table, y: Table): Samples {
  const width = y.rows[0]?.length;
  if (width !== 1) {
    const hint = y.delimiter === ',' ? ' (decimal commas need ";" or tab as delimiter)' : '';
    throw new InputFault(`${y.source}: one column expected, found ${width}${hint}`);
  }
  if (x.rows.length !== y.rows.length) {
    throw new InputFault(`${describe(x)}, ${describe(y)}: each spectrum needs one reference value`);
  }
  return { source: x.source, x: x.rows, y: y.rows.map((row) => row[0] as number) };
}

// The header is mentioned because a typing error in the first row, or a header of bare numbers, is what
// usually makes the counts differ by one.
const describe = (table: Table): string =>
  `${table.source} has ${table.rows.length} rows ${table.header ? 'below its header' : 'and no header'}`;

function readTest(folder: string, trainX: Table): Samples | null {
  const xPath = join(folder, 'test_x.csv');
  const yPath = join(folder, 'test_y.csv');
  if (existsSync(xPath) !== existsSync(yPath)) {
    const [there, missing] = existsSync(xPath) ? ['test_x.csv', 'test_y.csv'] : ['test_y.csv', 'test_x.csv'];
    throw new InputFault(`${there} is there but ${missing} is missing in ${folder}`);
  }
  if (!existsSync(xPath)) return null;
  const x = readTable(xPath);
  const columns = x.rows[0]?.length;
  const expected = trainX.rows[0]?.length;
  if (columns !== expected) {
    throw new InputFault(`test_x.csv has ${columns} columns, train_x.csv has ${expected}`);
  }
  const moved = x.header && trainX.header ? x.header.findIndex((name, j) => name !== trainX.header?.[j]) : -1;
  if (moved >= 0) {
    const names = `"${x.header?.[moved]}" in test_x.csv, "${trainX.header?.[moved]}" in train_x.csv`;
    throw new InputFault(`column ${moved + 1} is ${names}`);
  }
  return pair(x, readTable(yPath, x.delimiter));
}
