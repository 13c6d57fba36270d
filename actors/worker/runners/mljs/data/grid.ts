import { parse } from 'csv-parse/sync';
import { InputError } from '../../../errors.ts';
import { type DecimalMark, isGrouped, isMissing, isNumber, markOf, mayBeGrouped } from './numbers.ts';

/** The cells of a text file, before anything is known about what they mean. */
export interface Grid {
  /** File name, used in messages. */
  source: string;
  delimiter: string;
  mark: DecimalMark;
  /** Trimmed cells by row; every row but the first has the same number. */
  cells: string[][];
  /** Line of the file on which each row ends, from 1. */
  lines: number[];
  /** Whether the first row alone is quoted throughout: what only a header is. */
  firstIsQuoted: boolean;
  /** Lines between the rows that are empty: gaps, where the table has a single column. */
  blankLines: number[];
  /** What was read in one of two ways, a sentence each. */
  doubts: string[];
}

interface Row {
  cells: string[];
  line: number;
}

/**
 * Cuts a text into cells. Delimiter and decimal mark are decided once for the whole file: the delimiter by a `sep=`
 * line, else `;`, else tab, else blanks where every row has as many numbers between them, else `,`.
 *
 * @param like the spectra that a file of reference values belongs to: a single column does not show what its comma is
 * @throws InputError naming file and line of what cannot be read, with both readings where there are two
 */
export function readGrid(text: string, source: string, like?: Grid): Grid {
  const { body, named, offset } = withoutPreamble(text.replaceAll('\u2212', '-'));
  if (body.trim() === '') throw new InputError(`${source}: the file is empty`);
  const delimiter = named ?? findDelimiter(body, source, like);
  const { rows, quoted, blankLines } = cut(body, delimiter, source, offset);
  if (rows.length === 0) throw new InputError(`${source}: the file is empty`);
  const even = withoutEmptyEdge(withRowNames(rows));
  const width = commonWidth(even);
  for (const { cells, line } of even) {
    if (cells.length === width) continue;
    const hint = howToEven(cells.length, width, delimiter, even[0]?.line === line);
    throw new InputError(`${source}:${line}: ${cells.length} cells where other rows have ${width}${hint}`);
  }
  refuseCutNumbers(even, delimiter, source);
  const mark = findMark(even, source);
  return {
    source,
    delimiter,
    mark,
    cells: even.map((row) => row.cells),
    lines: even.map((row) => row.line),
    firstIsQuoted: quoted[0] === true && quoted[1] !== true,
    blankLines,
    doubts: doubtsOf(even, mark, delimiter, like),
  };
}

const SEPARATOR = /^sep=(.)\s*$/i;

/**
 * Takes off the line `sep=;` that tells Excel the delimiter, and comments, which begin with `#`. The last comment
 * before the data is their header if it has as many cells as they have, as NumPy writes it.
 */
function withoutPreamble(text: string): { body: string; named: string | null; offset: number } {
  const lines = text.split(/\r\n|\n|\r/);
  let named: string | null = null;
  let first = 0;
  let comment: string | null = null;
  for (; first < lines.length; first++) {
    const line = (lines[first] as string).trim();
    const separator = SEPARATOR.exec(lines[first] as string);
    if (separator && named === null) named = separator[1] as string;
    else if (line.startsWith('#')) comment = line.replace(/^#+\s?/, '');
    else if (line !== '') break;
  }
  const body = lines.slice(first).map((line) => (/^\s*#(?!N\/A|VALUE!|DIV)/i.test(line) ? '' : line));
  const cells = (line: string) => line.split(named ?? (/[;\t]/.exec(body[0] ?? '')?.[0] || ',')).length;
  if (comment !== null && cells(comment) > 1 && cells(comment) === cells(body[0] ?? '')) {
    return { body: [comment, ...body].join('\n'), named, offset: first - 1 };
  }
  return { body: body.join('\n'), named, offset: first };
}

function findDelimiter(text: string, source: string, like: Grid | undefined): string {
  const bare = text.replace(/"[^"]*"/g, '""');
  if (bare.includes(';')) return ';';
  if (bare.includes('\t')) return '\t';
  const lines = bare.split('\n').filter((line) => line.trim() !== '');
  if (isCutByBlanks(lines)) return ' ';
  if (!bare.includes(',')) return ',';
  // Spectra have more than one column.
  return like && isOneColumn(lines, source, like) ? ';' : ',';
}

function isCutByBlanks(lines: readonly string[]): boolean {
  const rows = lines.slice(lines.length > 1 ? 1 : 0).map((line) => line.trim().split(/ +/));
  const width = rows[0]?.length ?? 0;
  return (
    width > 1 &&
    rows.every((cells) => cells.length === width && cells.slice(1).every((cell) => isNumber(cell)))
  );
}

/** Whether the commas of a file are the decimal marks of a single column. */
function isOneColumn(lines: readonly string[], source: string, like: Grid): boolean {
  const counts = lines.map((line) => line.split(',').length);
  const isWritten = like.mark === ',' || like.delimiter !== ',' || counts[0] === 1;
  const numbers = lines.filter((line) => isNumber(line.trim()) || (isWritten && isGrouped(line.trim())));
  const words = lines.length - numbers.length - lines.filter((line) => isMissing(line.trim())).length;
  // At most a header beside numbers with at most one comma each.
  if (words > 1 || Math.max(...counts) > 2 || (words === 1 && isNumber((lines[0] as string).trim())))
    return false;
  if (words === 1) return counts[0] === 1;
  if (counts.some((count) => count === 1)) return true;
  if (like.mark === ',' || like.delimiter !== ',') return true;
  throw new InputError(
    `${source}: "${lines[0]}" can be one number with a decimal comma or two columns; write decimal points, or ";" between columns`,
  );
}

function cut(body: string, delimiter: string, source: string, offset: number) {
  const text = delimiter === ' ' ? body.replace(/^ +| +$/gm, '').replace(/ +/g, ' ') : body;
  const quoted: boolean[] = [];
  const options = {
    delimiter,
    relax_column_count: true,
    trim: delimiter !== '\t' && delimiter !== ' ',
  };
  // Behind the last quote every delimiter and every line end is one; to ask each character what it is takes far longer.
  const behind = text.lastIndexOf('"') < 0 ? 0 : endOfLine(text, text.lastIndexOf('"'));
  let parsed: { record: string[]; info: { lines: number } }[];
  try {
    parsed = parse(text.slice(0, behind), { ...options, info: true }) as unknown as typeof parsed;
    parse(text.slice(0, behind), {
      ...options,
      to: 2,
      cast: (_, { records, quoting }) => {
        quoted[records] = (quoted[records] ?? true) && quoting;
      },
    });
  } catch (error) {
    throw new InputError(`${source}: ${String((error as Error).message).split('\n')[0]}`);
  }
  const before = text.slice(0, behind).split('\n').length - 1;
  const lines = text.slice(behind).split('\n');
  for (const [i, line] of lines.entries()) {
    parsed.push({ record: line.split(delimiter), info: { lines: before + i + 1 } });
  }
  const rows: Row[] = [];
  const blankLines: number[] = [];
  for (const { record, info } of parsed) {
    const cells = record.map((cell) => cell.trim());
    const line = info.lines + offset;
    // A row of nothing but delimiters is what spreadsheets write for an empty one.
    if (cells.every((cell) => cell === '')) blankLines.push(line);
    else rows.push({ cells, line });
  }
  const last = rows.at(-1)?.line ?? 0;
  return { rows, quoted, blankLines: blankLines.filter((line) => line < last) };
}

/** Where the next line begins, or the text ends. */
function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end + 1;
}

/** R writes row names without a name above them: the header is one cell short. */
function withRowNames(rows: Row[]): Row[] {
  const [first, ...rest] = rows as [Row, ...Row[]];
  const isShort = rest.length > 0 && rest.every(({ cells }) => cells.length === first.cells.length + 1);
  if (!isShort || rest.every(({ cells }) => cells.at(-1) === '')) return rows;
  return [{ ...first, cells: ['', ...first.cells] }, ...rest];
}

/** A delimiter at the end of every row makes a last column of nothing. */
function withoutEmptyEdge(rows: Row[]): Row[] {
  const width = Math.max(...rows.map(({ cells }) => cells.length));
  const isEdge = width > 1 && rows.every(({ cells }) => cells.length < width || cells.at(-1) === '');
  return isEdge ? rows.map(({ cells, line }) => ({ cells: cells.slice(0, width - 1), line })) : rows;
}

/** Of the rows, since a header may be short or long. */
function commonWidth(rows: readonly Row[]): number {
  const counts = new Map<number, number>();
  for (const { cells } of rows) counts.set(cells.length, (counts.get(cells.length) ?? 0) + 1);
  const [width] = [...counts].reduce((best, next) => (next[1] > best[1] ? next : best));
  return width;
}

/** What a row of another width probably is. */
function howToEven(cells: number, width: number, delimiter: string, isFirst: boolean): string {
  if (delimiter === ',' && Math.min(cells, width) > 1 && (width === 2 * cells || cells === 2 * width)) {
    return '; decimal commas need another delimiter than a comma';
  }
  return isFirst ? '; delete what stands above the table, or begin those lines with #' : '';
}

/** Decimal commas between commas make two whole numbers of each, the second of which may begin with zeros. */
function refuseCutNumbers(rows: readonly Row[], delimiter: string, source: string): void {
  const width = rows[0]?.cells.length ?? 0;
  if (delimiter !== ',' || width < 4 || width % 2 === 1) return;
  const isCut = ({ cells }: Row) => cells.some((cell, j) => j % 2 === 1 && /^0\d+$/.test(cell));
  const isWhole = ({ cells }: Row) =>
    cells.every((cell, j) => (j % 2 === 0 ? /^[+-]?(0|[1-9]\d*)$/ : /^\d+$/).test(cell));
  const cut = rows.find(isCut);
  if (!cut || !rows.every(isWhole)) return;
  const line = cut.cells.slice(0, 4).join(',');
  throw new InputError(
    `${source}:${cut.line}: "${line}…" looks like decimal commas between commas; export with another delimiter, or decimal points`,
  );
}

function findMark(rows: readonly Row[], source: string): DecimalMark {
  const seen: Partial<Record<DecimalMark, string>> = {};
  const look = ({ cells, line }: Row) => {
    for (const cell of cells) {
      const mark = markOf(cell);
      if (mark !== null) seen[mark] ??= `"${cell}" on line ${line}`;
    }
  };
  rows.slice(1).forEach(look);
  // It may be a header with another mark than the numbers below.
  if (!seen['.'] && !seen[',']) rows.slice(0, 1).forEach(look);
  if (seen['.'] && seen[',']) {
    const both = `${seen[',']} has a decimal comma, ${seen['.']} a decimal point`;
    throw new InputError(`${source}: ${both}; a file must have one of them`);
  }
  return seen[','] ? ',' : '.';
}

/**
 * Numbers that can all be thousands, as `1,234` between quotes or beside decimal commas, do not tell what their mark
 * is: one that was read as a decimal mark is told.
 */
function doubtsOf(rows: readonly Row[], mark: DecimalMark, delimiter: string, like?: Grid): string[] {
  if (mark === ',' ? delimiter !== ',' : like?.mark !== ',') return [];
  const marked = rows.flatMap(({ cells }) => cells.filter((cell) => markOf(cell) === mark));
  const first = marked[0];
  if (first === undefined || !marked.every(mayBeGrouped)) return [];
  return [`"${first}" and the like were read as numbers with three decimals, not as thousands`];
}
