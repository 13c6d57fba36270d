import { InputError } from '../../../errors.ts';
import { axisPlace } from './axis.ts';
import { isGrouped, isMissing } from './numbers.ts';
import type { Table } from './table.ts';

/** What tells the rows of a table apart. */
export interface Ids {
  column: number;
  /** One for each row. */
  values: string[];
  /** Whether it merely counts the rows, as spreadsheets and pandas write it. */
  isCounter: boolean;
  /** Number of the first row, of a counter. */
  start: number;
}

/** The columns of a table by what they are for. */
export interface Columns {
  ids: Ids | null;
  /** Columns named by a place on an axis. */
  axis: number[];
  /** All others that hold numbers. */
  numbers: number[];
  /** All others that hold words. */
  words: number[];
}

const ID_NAME =
  /^(#|id|ids|index|no\.?|nr\.?|n[°º]|row|row ?names?|samples?|name|nom|code|barcode|unnamed: ?\d+|(sample|row|spectrum|scan|lab|proben?|muster|lfd\.?|[ée]chantillon)[ _.-]*(ids?|nr|no|n[°º]|#|names?|num(ber|mer|[ée]ro)?|code|bezeichnung)\.?|(n[°º]|num[ée]ro|nom)( d'| de l'|[ _.-])?[ée]chantillon|proben?|muster|bezeichnung|[ée]chantillons?)$/i;

/**
 * Sorts the columns of a table. A header with at least two places on an axis, at least half as many as columns, tells.
 *
 * @param shared a column of whole numbers that the other file has as well: what tells the rows apart
 */
export function columnsOf(table: Table, shared: string | null = null): Columns {
  const { header, isText } = table;
  const all = isText.map((_, j) => j);
  const ids = findIds(table, shared);
  const others = all.filter((j) => j !== ids?.column);
  const places = header ? others.filter((j) => axisPlace(header[j] as string) !== null) : [];
  const axis = places.length >= 2 && places.length * 2 >= others.length ? places : [];
  const rest = others.filter((j) => !axis.includes(j));
  return {
    ids,
    axis,
    numbers: rest.filter((j) => !isText[j]),
    words: rest.filter((j) => isText[j]),
  };
}

/**
 * The name of the column that two files have in common and that tells their rows apart by whole numbers, as batches or
 * days do; null where there is none, or several.
 *
 * @param wanted the reference value that the user named
 */
export function sharedIds(x: Table, y: Table, wanted: string | null): string | null {
  const [inX, inY] = [wholeNumbers(x), wholeNumbers(y)];
  const names = inY.filter((name) => inX.includes(name) && name !== wanted?.toLowerCase());
  const others = y.isText.filter((isText) => !isText).length - 1;
  return names.length === 1 && others > 0 ? (names[0] as string) : null;
}

/** Names, in lower case, of columns of whole numbers that do not repeat. */
const wholeNumbers = ({ header, cells }: Table): string[] =>
  (header ?? []).flatMap((name, j) => {
    const column = cells.map((row) => row[j] as string);
    const tells = column.every((cell) => /^\d+$/.test(cell)) && new Set(column).size === column.length;
    return tells && name !== '' && axisPlace(name) === null ? [name.toLowerCase()] : [];
  });

function findIds(table: Table, shared: string | null): Ids | null {
  const { header, isText, cells } = table;
  // A single column can only be what the table is about.
  if (isText.length < 2) return null;
  const isUnique = (j: number) => new Set(cells.map((row) => row[j])).size === cells.length;
  const isNamed = (name: string) => ID_NAME.test(name) || name.toLowerCase() === shared;
  const named = header ? header.findIndex((name, j) => isNamed(name) && (isText[j] || isUnique(j))) : -1;
  const unnamed = header?.[0] === '' ? 0 : -1;
  const text = isText[0] ? 0 : isText.indexOf(true);
  const counting = header === null && isText.length > 2 && counterStart(table, 0) !== null ? 0 : -1;
  const column = [named, unnamed, text, counting].find((j) => j >= 0);
  if (column === undefined) return null;
  const values = cells.map((row) => row[column] as string);
  // Words that repeat, such as a site, tell no rows apart.
  if (column === text && column !== named && !isUnique(column)) return null;
  const start = counterStart(table, column);
  return { column, values, isCounter: start !== null, start: start ?? 0 };
}

/** 0 or 1 if the column counts the rows from there. */
function counterStart({ values }: Table, column: number): 0 | 1 | null {
  const start = values[0]?.[column];
  if (start !== 0 && start !== 1) return null;
  return values.length > 1 && values.every((row, i) => row[column] === start + i) ? start : null;
}

/** The numbers of some columns, a row each; a gap or a word is refused by row and column. */
export function numbersOf(table: Table, columns: readonly number[]): number[][] {
  return table.values.map((row, i) =>
    columns.map((j) => {
      const value = row[j] as number;
      if (Number.isFinite(value)) return value;
      throw new InputError(`${table.source}:${table.lines[i]}: ${describeCell(table, i, j)}`);
    }),
  );
}

/** The numbers of one column; NaN for gaps. A word is refused. */
export function numbersWithGaps(table: Table, column: number): number[] {
  return table.values.map((row, i) => {
    const value = row[column] as number;
    if (Number.isFinite(value)) return value;
    if (isMissing(table.cells[i]?.[column] as string)) return Number.NaN;
    throw new InputError(
      `${table.source}:${table.lines[i]}: ${describeCell(table, i, column)}; write a number, or leave the cell empty to leave the sample out`,
    );
  });
}

function describeCell({ cells, header }: Table, row: number, column: number): string {
  const name = header?.[column] ? ` ("${header[column]}")` : '';
  const text = cells[row]?.[column] as string;
  if (text === '') return `column ${column + 1}${name} is empty`;
  const marks = isGrouped(text) ? ', which has a mark for thousands' : '';
  return `column ${column + 1}${name} is not a finite number: "${text.slice(0, 40)}"${marks}`;
}
