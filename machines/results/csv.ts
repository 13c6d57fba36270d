/* Tables of comma-separated values (RFC 4180). */

export type CsvCell = string | number | null;

/** A line, with its end. */
export const csvLine = (cells: readonly CsvCell[]): string => `${cells.map(csvCell).join(',')}\r\n`;

/**
 * Spreadsheets compute texts that begin like a formula, and follow the links in what comes of it: an apostrophe keeps such
 * a text a text. Numbers stay numbers, negative ones too.
 */
export function csvCell(cell: CsvCell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  const text = isLikeFormula(cell) ? `'${cell}` : cell;
  return /[",;\r\n\t]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Also behind apostrophes: what reads like a marked text is marked once more, or it would be read as that text. */
const isLikeFormula = (text: string): boolean => /^'*(?:[\s\p{Cc}]*[=+\-@|%＝＋－＠]|[\t\r\n])/u.test(text);

/** The text of a cell that was written by `csvCell`. */
export const textOfCell = (cell: string): string =>
  cell.startsWith("'") && isLikeFormula(cell.slice(1)) ? cell.slice(1) : cell;

/** The cells of a table, line by line. */
export function readCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [whole, cell = '', end] of text.matchAll(/("(?:[^"]|"")*"|[^,\r\n]*)(,|\r?\n|$)/g)) {
    // What is left at the end of a text whose last line is ended.
    if (whole === '' && row.length === 0) break;
    row.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}
