import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DatasetHints, readDataset } from '../../actors/worker/runners/mljs/dataset.ts';
import { refusesInput, scratch } from './mljs-support.ts';

export const WAVELENGTHS = [900, 902, 904, 906, 908, 910, 912];

export const ROWS = 9;

/** Smooth curves, some of which rise and some of which fall, as spectra do. */
export const X = Array.from({ length: ROWS }, (_, i) =>
  WAVELENGTHS.map((_, j) => Number((0.4 * Math.sin(i + j / 2) + i / 50).toFixed(4))),
);

export const Y = X.map((row, i) =>
  Number((80 + 5 * (row[2] as number) - (row[5] as number) + (i % 3) / 7).toFixed(3)),
);

export const NO_HINTS: DatasetHints = { target: null, header: null };

export type Cell = string | number;

export type Bytes = string | Buffer;

export const text = (rows: readonly (readonly Cell[])[], delimiter = ',', mark = '.'): string =>
  rows
    .map((row) => row.map((cell) => (typeof cell === 'number' ? String(cell).replace('.', mark) : cell)))
    .map((row) => `${row.join(delimiter)}\n`)
    .join('');

export const headed = (names: readonly Cell[] = WAVELENGTHS, rows: readonly (readonly Cell[])[] = X) => [
  names.map(String),
  ...rows,
];

export const column = (name: string | null = 'octane', values: readonly Cell[] = Y) => [
  ...(name === null ? [] : [[name]]),
  ...values.map((value) => [value]),
];

export const IDS = Y.map((_, i) => `S${String(i * 7).padStart(3, '0')}`);

/** The same in another order. */
export const shuffled = <T>(items: readonly T[]): T[] => items.map((_, i) => items[(i * 4) % ROWS] as T);

/** Puts a column before those of a table with a header. */
export const before = (name: string, values: readonly Cell[], rows: readonly (readonly Cell[])[]) =>
  rows.map((row, i) => [i === 0 ? name : (values[i - 1] as Cell), ...row]);

export const counter = (from: number) => Y.map((_, i) => i + from);

export function folder(files: Record<string, Bytes>): string {
  const path = scratch();
  for (const [name, content] of Object.entries(files)) writeFileSync(join(path, name), content);
  return path;
}

export const pair = (x: Bytes, y: Bytes = text(column())) => folder({ 'train_x.csv': x, 'train_y.csv': y });

export const refuses = (path: string, message: RegExp, hints: DatasetHints = NO_HINTS): void =>
  refusesInput(() => readDataset(path, hints), message);

/** Asserts that a dataset holds the numbers above; gives its warnings. */
export function isPlain(path: string, hints: Partial<DatasetHints> = {}): string[] {
  const { train, warnings } = readDataset(path, { ...NO_HINTS, ...hints });
  assert.deepEqual([train.x, train.y], [X, Y]);
  return warnings;
}
