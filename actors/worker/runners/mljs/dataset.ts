import { basename } from 'node:path';
import { InputError } from '../../errors.ts';
import { axisPlace, isMonotone } from './data/axis.ts';
import { type Columns, columnsOf, numbersOf, numbersWithGaps, sharedIds } from './data/columns.ts';
import { type DatasetFiles, findTables, type TableFiles } from './data/files.ts';
import { type Grid, readGrid } from './data/grid.ts';
import { joinRows, type Pair, type Sorted } from './data/join.ts';
import { tellSameNames } from './data/names.ts';
import { isMissing } from './data/numbers.ts';
import { refuseLeadingAxis, refuseOneRow } from './data/shape.ts';
import { asTable, type Table } from './data/table.ts';
import { chooseTarget } from './data/target.ts';
import { decodeText, otherFormat } from './data/text.ts';
import { few } from './data/words.ts';
import { readBytes } from './files.ts';

/** Spectra (one row per sample) and the reference value of each. */
export interface Samples {
  /** File name of the spectra, used in messages. */
  source: string;
  x: number[][];
  y: number[];
  /** How people know each sample: what tells the rows of its file apart, or else the number of its row, from 1. */
  names: string[];
}

/** A dataset after reading. */
export interface Dataset {
  train: Samples;
  test: Samples | null;
  /** Column names of the training spectra (wavelengths, usually), or null without a header row. */
  columns: string[] | null;
  /** Name of the reference value, or null. */
  target: string | null;
  /** Where reference values are words: those, and each value is the place of its word. */
  classes: string[];
  /** What was left out or looks odd, a sentence each. */
  warnings: string[];
}

/** What a user may say about a dataset that it does not say itself. */
export interface DatasetHints {
  /** Name of the reference value, where there are several. */
  target: string | null;
  /** Whether the files of spectra begin with a header. */
  header: boolean | null;
  /** Whether reference values may be words. */
  words?: boolean;
}

/** One set of samples with the names of its columns. */
interface NamedSamples {
  samples: Samples;
  columns: string[] | null;
  target: string | null;
}

/**
 * Reads a dataset: a folder, or a file that is one table. The rules are in README.md next to this file.
 *
 * @throws InputError naming file and place if one is missing, unreadable, ambiguous or does not fit the others
 */
export function readDataset(path: string, hints: DatasetHints = { target: null, header: null }): Dataset {
  return readTables(findTables(path), hints);
}

/** The same of files that are known. */
export function readTables(files: DatasetFiles, hints: DatasetHints): Dataset {
  const warnings: string[] = [];
  const reader = new SetReader(hints, (text) => warnings.push(text));
  const train = reader.read(files.train);
  if (train.samples.y.every((value) => value === train.samples.y[0])) {
    const { y } = { y: '', ...files.train };
    throw new InputError(
      `${basename(y || train.samples.source)}: all values are the same, there is nothing to learn`,
    );
  }
  const test = files.test ? reader.read(files.test) : null;
  if (test) checkColumns(train, test);
  return {
    train: train.samples,
    test: test?.samples ?? null,
    columns: train.columns,
    target: train.target,
    classes: reader.classes,
    warnings,
  };
}

/** Reads tables of spectra and of reference values by the rules of README.md. */
export class SetReader {
  readonly #hints: DatasetHints;
  readonly #warn: (text: string) => void;
  /** Those that stood for reference values. */
  readonly classes: string[] = [];

  constructor(hints: DatasetHints, warn: (text: string) => void) {
    this.#hints = hints;
    this.#warn = warn;
  }

  read(files: TableFiles): NamedSamples {
    return 'both' in files ? this.#readBoth(files.both) : this.#readPair(files);
  }

  #readPair(files: { x: string; y: string }): NamedSamples {
    const grid = this.gridOf(files.x);
    const spectra = asTable(grid, this.#hints.header);
    const reference = this.referenceTable(this.gridOf(files.y, grid), spectra);
    refuseOneRow(reference, spectra.cells.length);
    const shared = sharedIds(spectra, reference, this.#hints.target);
    const [x, y] = [sorted(spectra, shared), sorted(reference, shared)];
    const spectrum = this.spectrumOf(x);
    const candidates = this.#candidates(y, [...y.columns.axis, ...y.columns.numbers]);
    const target = chooseTarget(y.table, candidates, this.#hints.target);
    const pairs = joinRows(x, y, this.#warn);
    const nameOf = (pair: Pair) => {
      const inY = pair.y === null ? undefined : y.columns.ids?.values[pair.y];
      return x.columns.ids?.values[pair.x] ?? inY ?? String(pair.x + 1);
    };
    return this.#samples(x.table, spectrum, y.table, target, pairs, nameOf);
  }

  gridOf(path: string, like?: Grid): Grid {
    const grid = gridOf(path, like);
    for (const doubt of grid.doubts) this.#warn(`${grid.source}: ${doubt}`);
    return grid;
  }

  #readBoth(path: string): NamedSamples {
    const { table, columns } = sorted(asTable(this.gridOf(path), this.#hints.header));
    const { axis, ids } = columns;
    if (table.header === null || axis.length === 0) {
      const what = table.header ? 'no columns named by wavelengths' : 'no header';
      throw new InputError(
        `${table.source} has ${what}: one table needs them to tell spectra from reference values`,
      );
    }
    const candidates = this.#candidates({ table, columns }, columns.numbers);
    const target = chooseTarget(table, candidates, this.#hints.target);
    const pairs = table.lines.map((line, i) => ({ x: i, y: i, line }));
    const nameOf = (pair: Pair) => ids?.values[pair.x] ?? String(pair.x + 1);
    return this.#samples(table, axis, table, target, pairs, nameOf);
  }

  /** Columns that may hold the reference values: words only where that is wished, and no numbers may be meant. */
  #candidates({ table, columns: { words } }: Sorted, numbers: readonly number[]): number[] {
    const { target } = this.#hints;
    const isNamed = words.some((j) => table.header?.[j]?.toLowerCase() === target?.toLowerCase());
    const wordsToo = this.#hints.words === true && (numbers.length === 0 || isNamed);
    return [...numbers, ...(wordsToo ? words : [])].sort((a, b) => a - b);
  }

  /** Numbers, or the places of words among the classes; NaN for gaps. */
  #valuesOf(table: Table, target: number): number[] {
    if (!table.isText[target] || this.#hints.words !== true) return numbersWithGaps(table, target);
    return table.cells.map((row) => {
      const word = row[target] as string;
      if (isMissing(word)) return Number.NaN;
      if (!this.classes.includes(word)) this.classes.push(word);
      return this.classes.indexOf(word);
    });
  }

  /** A bare 0 or 1, which pandas writes above a column without a name, is a header where the counts say so. */
  referenceTable(grid: Grid, x: Table): Table {
    const y = asTable(grid);
    const [first, ...rest] = y.values.map((row) => row[0] as number);
    const isUnlike = rest.every((value) => !(value <= (first as number)));
    const isName = (first === 0 || first === 1) && isUnlike && y.isText.length === 1;
    if (y.header || !isName || y.cells.length !== x.cells.length + 1) return y;
    this.#warn(`${y.source}: the first row, "${y.cells[0]?.[0]}", was taken for a header`);
    return asTable(grid, true);
  }

  spectrumOf({ table, columns: { axis, numbers, words } }: Sorted): number[] {
    const spectrum = axis.length > 0 ? axis : numbers;
    if (spectrum.length === 0) {
      const hint =
        table.isText.length === 1
          ? `; columns are told apart by ; tab , or blanks, or by a first line sep=|`
          : '';
      throw new InputError(
        `${table.source} has no columns of numbers: it begins with ${table.firstRow}${hint}`,
      );
    }
    if (axis.length === 0) refuseLeadingAxis(table, spectrum);
    const left = axis.length > 0 ? [...numbers, ...words] : words;
    const names = left.sort((a, b) => a - b).map((j) => table.header?.[j] || `column ${j + 1}`);
    if (names.length > 0) this.#warn(`${table.source}: no part of the spectra and left out: ${few(names)}`);
    return spectrum;
  }

  #samples(
    table: Table,
    spectrum: number[],
    values: Table,
    target: number,
    pairs: readonly Pair[],
    nameOf: (pair: Pair) => string,
  ): NamedSamples {
    const rows = numbersOf(table, spectrum);
    const reference = this.#valuesOf(values, target);
    const x: number[][] = [];
    const y: number[] = [];
    const names: string[] = [];
    const gaps: number[] = [];
    for (const pair of pairs) {
      const value = pair.y === null ? Number.NaN : (reference[pair.y] as number);
      if (Number.isNaN(value)) gaps.push(pair.line);
      else {
        x.push(rows[pair.x] as number[]);
        y.push(value);
        names.push(nameOf(pair));
      }
    }
    if (gaps.length > 0) {
      const samples = gaps.length === 1 ? '1 sample' : `${gaps.length} samples`;
      this.#warn(`${values.source}: ${samples} without a reference value left out (line ${few(gaps)})`);
    }
    if (y.length === 0) throw new InputError(`${values.source}: no sample has a reference value`);
    const columns = table.header ? spectrum.map((j) => table.header?.[j] as string) : null;
    this.#lookAt(table.source, x, columns);
    tellSameNames(table.source, names, this.#warn);
    return {
      samples: { source: table.source, x, y, names },
      columns,
      target: values.header?.[target] ?? null,
    };
  }

  /** What is legal and yet rarely meant. */
  #lookAt(source: string, x: readonly number[][], columns: readonly string[] | null): void {
    const name = (j: number) => columns?.[j] || `column ${j + 1}`;
    const places = (columns ?? []).map((column) => axisPlace(column)?.value ?? column);
    const seen = new Set<number | string>();
    const twice = places.flatMap((place, j) => (seen.size === seen.add(place).size ? [name(j)] : []));
    const isOrdered =
      places.some((place) => typeof place === 'string') || isMonotone(places as number[], false);
    if (!isOrdered) this.#warn(`${source}: the wavelengths are in no order`);
    if (twice.length > 0) this.#warn(`${source}: more than one column stands for ${few(twice)}`);
    if (x.length < 2) return;
    const first = x[0] as number[];
    const constant = first.flatMap((value, j) => (x.every((row) => row[j] === value) ? [name(j)] : []));
    if (constant.length > 0) this.#warn(`${source}: the same in every sample: ${few(constant)}`);
  }
}

function gridOf(path: string, like?: Grid): Grid {
  const bytes = readBytes(path, 'data file');
  const other = otherFormat(bytes);
  if (other !== null)
    throw new InputError(`${basename(path)} is ${other}, no table of text; export it as CSV`);
  return readGrid(decodeText(bytes), basename(path), like);
}

export function sorted(table: Table, shared: string | null = null): { table: Table; columns: Columns } {
  return { table, columns: columnsOf(table, shared) };
}

function checkColumns(train: NamedSamples, test: NamedSamples): void {
  const [a, b] = [train.samples, test.samples];
  const [expected, found] = [a.x[0]?.length, b.x[0]?.length];
  if (expected !== found) {
    throw new InputError(`${b.source} has ${found} columns, ${a.source} has ${expected}`);
  }
  const place = (name: string | undefined) => axisPlace(name ?? '')?.value ?? name;
  const moved = test.columns?.findIndex(
    (name, j) => train.columns && place(name) !== place(train.columns[j]),
  );
  if (moved === undefined || moved < 0) return;
  const names = `"${test.columns?.[moved]}" in ${b.source}, "${train.columns?.[moved]}" in ${a.source}`;
  throw new InputError(`column ${moved + 1} is ${names}`);
}
