import { stripVTControlCharacters } from 'node:util';
import Table from 'cli-table3';
import type { Output } from './output.ts';

export interface Column {
  title: string;
  align?: 'left' | 'right';
  /** May be cut when the terminal is too narrow; `last`: only when all others are as narrow as they may be. */
  flexible?: boolean | 'last';
  /** Holds ids: shown by their ends where the terminal is too narrow, as every command takes them. */
  ids?: boolean;
  /** May be left out when all that does not help; the last of them goes first. */
  optional?: boolean;
}

const GAP = 2;
/** The end of an id that is shown, with the mark that something stands before it. */
const SHORT_ID = 9;
const narrowest = ({ ids }: Column) => (ids ? SHORT_ID : 8);
const BARE = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
};

/**
 * Rows under their titles, without lines. On a terminal ids are shortened, flexible columns cut and optional ones left
 * out until the table fits; elsewhere nothing is.
 * @param rows cells, already made safe by `plain`
 */
export function table(allColumns: Column[], allRows: string[][], output: Output): string {
  const dim = output.colours.dim;
  const { columns, rows } = fitting(allColumns, allRows, output.width);
  const drawn = new Table({
    head: columns.map(({ title }) => dim(title)),
    colAligns: columns.map(({ align }) => align ?? 'left'),
    colWidths: widths(columns, rows, output.width),
    chars: BARE,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': GAP },
  });
  drawn.push(...rows);
  return drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

interface Content {
  columns: Column[];
  rows: string[][];
}

/** What of a table a terminal has room for, its flexible columns as narrow as they may be. */
function fitting(columns: Column[], rows: string[][], room: number | undefined): Content {
  let content: Content = { columns, rows };
  if (room === undefined || widthOf(content, false) <= room) return content;
  const shorten = (cell: string, i: number) => (columns[i]?.ids ? shortIds(cell) : cell);
  content = { columns, rows: rows.map((row) => row.map(shorten)) };
  while (widthOf(content, true) > room) {
    const last = content.columns.findLastIndex(({ optional }) => optional);
    if (last < 0) break;
    content = {
      columns: content.columns.toSpliced(last, 1),
      rows: content.rows.map((row) => row.toSpliced(last, 1)),
    };
  }
  return content;
}

const shortIds = (cell: string): string => cell.replace(/\b[a-z]+_[0-9a-z]{18}([0-9a-z]{8})\b/g, '…$1');

/** Columns of the terminal that a table takes; with `cut`, when its flexible columns are cut. */
function widthOf({ columns, rows }: Content, cut: boolean): number {
  const wide = columns.map((column, i) => {
    const width = Math.max(column.title.length, ...rows.map((row) => displayed(row[i] ?? '')));
    return cut && column.flexible ? Math.min(width, narrowest(column)) : width;
  });
  return wide.reduce((sum, width) => sum + width + GAP, -GAP);
}

/** Column widths with their gap; null where the content decides. */
function widths(columns: Column[], rows: string[][], room: number | undefined): (number | null)[] {
  if (room === undefined) return columns.map(() => null);
  const wide = columns.map(({ title }, i) =>
    Math.max(title.length, ...rows.map((row) => displayed(row[i] ?? ''))),
  );
  const natural = [...wide];
  let excess = wide.reduce((sum, width) => sum + width + GAP, -GAP) - room;
  for (const when of [true, 'last'] as const) {
    while (excess > 0) {
      const yielding = columns.flatMap((column, i) =>
        column.flexible === when && (wide[i] ?? 0) > narrowest(column) ? [i] : [],
      );
      if (yielding.length === 0) break;
      const widest = yielding.reduce((a, b) => ((wide[b] ?? 0) > (wide[a] ?? 0) ? b : a));
      wide[widest] = (wide[widest] ?? 0) - 1;
      excess--;
    }
  }
  return wide.map((width, i) => (width < (natural[i] ?? 0) ? width + GAP : null));
}

/** Characters of a cell without its colours; the table itself measures exactly where it cuts. A cell may have lines. */
const displayed = (cell: string) =>
  Math.max(...cell.split('\n').map((line) => [...stripVTControlCharacters(line)].length));

/** Names and values below each other. */
export function facts(rows: [name: string, value: string][], output: Output): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${output.colours.dim(name.padEnd(width))}  ${value}`).join('\n');
}
