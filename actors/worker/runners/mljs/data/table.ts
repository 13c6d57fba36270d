import { InputError } from '../../../errors.ts';
import { isMonotone } from './axis.ts';
import type { Grid } from './grid.ts';
import { isMissing, isNumber, isWord, parseNumber } from './numbers.ts';

/** A grid whose first row is known to be a header or not. */
export interface Table extends Pick<Grid, 'source' | 'mark' | 'delimiter' | 'blankLines'> {
  /** Column names as written, or null if the file has no header row. */
  header: string[] | null;
  /** Line of the header; 0 without one. */
  headerLine: number;
  /** How messages call the first row of the file. */
  firstRow: string;
  cells: string[][];
  lines: number[];
  /** The cells as numbers; NaN for words and gaps. */
  values: number[][];
  /** Whether a column consists of words rather than of numbers. */
  isText: boolean[];
}

/** Spectra of fewer columns than this are not told from a header by their order alone. */
const SURELY_SPECTRA = 5;

/**
 * Finds out whether the first row is a header: it has words above numbers, or is alone quoted throughout, or is an
 * axis, that is strictly monotone and unlike the rows below it.
 *
 * @param declared what the user says about it, if anything (`params.header`)
 * @throws InputError with both readings where the row can be either
 */
export function asTable(grid: Grid, declared: boolean | null = null): Table {
  const { source, mark } = grid;
  const values = grid.cells.map((row) => row.map((cell) => parseNumber(cell, mark)));
  // A header that stands once more is no row like the others.
  const again = grid.cells.flatMap((row, i) => (i > 0 && isSame(row, grid.cells[0] as string[]) ? [i] : []));
  const isHeader =
    declared ?? (again.length > 0 ? hasHeader(...without(again, grid, values)) : hasHeader(grid, values));
  if (isHeader && grid.cells.length === 1) throw new InputError(`${source}: no rows of data`);
  if (isHeader && again[0] !== undefined) {
    throw new InputError(`${source}:${grid.lines[again[0]]}: the header stands here again; delete the line`);
  }
  const from = isHeader ? 1 : 0;
  const cells = grid.cells.slice(from);
  const width = (cells[0] as string[]).length;
  const isText = Array.from({ length: width }, (_, j) => isTextColumn(cells, j));
  if (isHeader) refuseUnits(cells, isText, `${source}:${grid.lines[from]}`);
  return {
    source,
    mark,
    delimiter: grid.delimiter,
    blankLines: grid.blankLines,
    headerLine: isHeader ? (grid.lines[0] as number) : 0,
    header: isHeader ? (grid.cells[0] as string[]) : null,
    firstRow: `"${(grid.cells[0] as string[]).slice(0, 3).join(grid.delimiter)}${width > 3 ? '…' : ''}"`,
    cells,
    lines: grid.lines.slice(from),
    values: values.slice(from),
    isText,
  };
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((cell, j) => cell === b[j]);

function without(rows: readonly number[], grid: Grid, values: number[][]): [Grid, number[][]] {
  const kept = <T>(list: readonly T[]) => list.filter((_, i) => !rows.includes(i));
  return [{ ...grid, cells: kept(grid.cells), lines: kept(grid.lines) }, kept(values)];
}

/** Units below the names of the columns. */
function refuseUnits(cells: readonly string[][], isText: readonly boolean[], where: string): void {
  const first = (cells[0] as string[]).filter((_, j) => !isText[j]);
  const words = first.filter(isWord);
  if (words.length === 0 || words.length < first.filter((cell) => !isMissing(cell)).length) return;
  throw new InputError(
    `${where}: "${words[0]}" stands below the header where numbers should; delete this line if it holds units, or begin it with #`,
  );
}

/** A column with more words than numbers; a word among numbers is a typing error. */
function isTextColumn(rows: readonly string[][], column: number): boolean {
  let words = 0;
  let filled = 0;
  for (const row of rows) {
    const cell = row[column] as string;
    const isWritten = isNumber(cell);
    if (!isWritten && isMissing(cell)) continue;
    filled++;
    if (!isWritten) words++;
  }
  return words * 2 > filled;
}

function hasHeader(grid: Grid, values: readonly number[][]): boolean {
  const first = grid.cells[0] as string[];
  const below = grid.cells.slice(1);
  const words = first.flatMap((cell, j) => (isWord(cell) ? [j] : []));
  if (below.length === 0) return words.length > 0;
  const aboveNumbers = words.filter((j) => !isTextColumn(below, j));
  const axis = first.flatMap((cell, j) => (isWord(cell) || isMissing(cell) ? [] : [j]));
  const places = axis.map((j) => Number((first[j] as string).replace(',', '.')));
  if (aboveNumbers.length > 0) {
    // Words among numbers that are no axis: rather a spectrum with a typing error.
    if (places.length > aboveNumbers.length && !isMonotone(places, false)) {
      throw ambiguous(grid, `a spectrum in which "${first[aboveNumbers[0] as number]}" is a typing error`);
    }
    return true;
  }
  if (grid.firstIsQuoted) return true;
  // All columns hold words: the first row names them.
  if (words.length === first.length && words.length > 1) return true;
  return isAxis(grid, axis, places, values.slice(1));
}

/** Whether numbers in the first row are an axis above spectra. */
function isAxis(
  grid: Grid,
  axis: readonly number[],
  places: readonly number[],
  below: readonly number[][],
): boolean {
  if (axis.length < 2) return false;
  const range = (row: readonly number[]) => axis.map((j) => row[j] as number).filter(Number.isFinite);
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let monotone = 0;
  for (const row of below) {
    const numbers = range(row);
    for (const value of numbers) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    if (numbers.length > 1 && isMonotone(numbers)) monotone++;
  }
  const isApart = Math.min(...places) > high || Math.max(...places) < low;
  const surely = axis.length >= SURELY_SPECTRA;
  if (!isMonotone(places)) {
    if (isApart && surely && isMonotone(places, false)) return true;
    if (isApart && surely) throw ambiguous(grid, 'a spectrum of quite other values than the others');
    return false;
  }
  if (isApart) return surely || monotone === 0;
  if (!surely) return false;
  if (monotone === 0) return true;
  const few = monotone * 2 < below.length;
  if (isEven(places) && !below.some((row) => isEven(range(row)))) {
    if (few || isCount(places)) return true;
    throw ambiguous(grid, 'a spectrum that rises or falls evenly');
  }
  if (few) throw ambiguous(grid, 'a spectrum that rises or falls');
  return false;
}

/** Numbers from 0 or 1, which programs write where columns have no names. */
const isCount = (values: readonly number[]): boolean =>
  (values[0] === 0 || values[0] === 1) && values.every((value, i) => value === (values[0] as number) + i);

function isEven(values: readonly number[]): boolean {
  const step = ((values.at(-1) as number) - (values[0] as number)) / (values.length - 1);
  return values.every(
    (value, i) => Math.abs(value - (values[0] as number) - i * step) < Math.abs(step) / 100,
  );
}

function ambiguous(grid: Grid, other: string): InputError {
  return new InputError(
    `${grid.source}:${grid.lines[0]}: the first row can be a header or ${other}; params.header: true or false says which`,
  );
}
