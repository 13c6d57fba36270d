import { basename } from 'node:path';
import { parse } from 'csv-parse/sync';
import { InputFault } from './fault.ts';
import { readText } from './files.ts';

/** A table of numbers read from a text file. */
export interface Table {
  /** File name, used in messages. */
  source: string;
  /** Column names as written, or null if the file has no header row. */
  header: string[] | null;
  rows: number[][];
  delimiter: string;
}

interface Cell {
  text: string;
  quoted: boolean;
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const DECIMAL_COMMA = /^[+-]?\d*,\d+([eE][+-]?\d+)?$/;
// Words for missing values never make a row a header: a first spectrum with a gap is a fault, not a header.
const MISSING = /^([+-]?(nan|inf|infinity)|na|n\/a|null|none|-|)$/i;

/**
 * Reads a table of numbers.
 *
 * The delimiter is `;` if any of the first lines has one outside quotes, else tab, else `fallback`; with `;`
 * and tab, decimal commas are understood. The first row is a header if it has a cell that is neither a number
 * nor a word for a missing value, or if it alone is quoted throughout.
 *
 * @param path file to read
 * @param fallback delimiter of a file that has neither `;` nor tab: a single column does not show its own
 * @throws InputFault naming file and line if it is empty, ragged or has a cell that is not a finite number
 */
export function readTable(path: string, fallback = ','): Table {
  const source = basename(path);
  const text = readText(path, 'data file');
  if (text.trim() === '') throw new InputFault(`${source}: the file is empty`);
  const delimiter = findDelimiter(text, fallback);
  const records = parseRecords(text, delimiter, source);
  const decimalComma = delimiter !== ',';
  const first = records[0];
  const header = first && isHeader(first.cells, records[1]?.cells, decimalComma) ? first.cells : null;
  const body = header ? records.slice(1) : records;
  if (body.length === 0) throw new InputFault(`${source}: no rows of data`);
  const width = (first as { cells: Cell[] }).cells.length;
  const rows = body.map(({ cells, line }) => {
    if (cells.length !== width) {
      throw new InputFault(`${source}:${line}: ${cells.length} cells where the first row has ${width}`);
    }
    return cells.map((cell, j) => readNumber(cell.text, decimalComma, `${source}:${line}`, j + 1));
  });
  return { source, header: header?.map((cell) => cell.text) ?? null, rows, delimiter };
}

function findDelimiter(text: string, fallback: string): string {
  const sample = text.slice(0, 65_536).replace(/"[^"]*"/g, '');
  if (sample.includes(';')) return ';';
  return sample.includes('\t') ? '\t' : fallback;
}

function parseRecords(text: string, delimiter: string, source: string): { cells: Cell[]; line: number }[] {
  try {
    const parsed = parse(text, {
      bom: true,
      delimiter,
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      trim: delimiter !== '\t',
      cast: (value, context) => ({ text: value.trim(), quoted: context.quoting }),
    }) as unknown as { record: Cell[]; info: { lines: number } }[];
    return parsed.map(({ record, info }) => ({ cells: record, line: info.lines }));
  } catch (error) {
    throw new InputFault(`${source}: ${String((error as Error).message).split('\n')[0]}`);
  }
}

function isHeader(first: Cell[], second: Cell[] | undefined, decimalComma: boolean): boolean {
  if (first.some(({ text }) => parseNumber(text, decimalComma) === null && !MISSING.test(text))) return true;
  return first.every((cell) => cell.quoted) && !(second ?? []).every((cell) => cell.quoted);
}

function parseNumber(text: string, decimalComma: boolean): number | null {
  if (NUMBER.test(text)) return Number(text);
  return decimalComma && DECIMAL_COMMA.test(text) ? Number(text.replace(',', '.')) : null;
}

function readNumber(text: string, decimalComma: boolean, where: string, column: number): number {
  if (text === '') throw new InputFault(`${where}: column ${column} is empty`);
  const value = parseNumber(text, decimalComma);
  if (value !== null && Number.isFinite(value)) return value;
  throw new InputFault(`${where}: column ${column} is not a finite number: "${text.slice(0, 40)}"`);
}
