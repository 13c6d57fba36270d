import { stripVTControlCharacters } from 'node:util';
import Table from 'cli-table3';
import type { Output } from './output.ts';

export interface Column {
  title: string;
  align?: 'left' | 'right';
  /** May be cut when the terminal is too narrow; `last`: only when all others are as narrow as they may be. */
  flexible?: boolean | 'last';
}

const GAP = 2;
const NARROWEST = 8;
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
 * Rows under their titles, without lines. On a terminal the flexible columns are cut until the table fits;
 * elsewhere nothing is cut.
 * @param rows cells, already made safe by `plain`
 */
export function table(columns: Column[], rows: string[][], output: Output): string {
  const dim = output.colours.dim;
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

/** Column widths with their gap; null where the content decides. */
function widths(columns: Column[], rows: string[][], room: number | undefined): (number | null)[] {
  if (room === undefined) return columns.map(() => null);
  const wide = columns.map(({ title }, i) =>
    Math.max(title.length, ...rows.map((row) => displayed(row[i] ?? ''))),
  );
  const natural = [...wide];
  let excess = wide.reduce((sum, width) => sum + width + GAP, -GAP) - room;
  for (const when of [true, 'last'] as const) {
    const flexible = columns.flatMap(({ flexible }, i) => (flexible === when ? [i] : []));
    while (excess > 0) {
      const widest = flexible.reduce((a, b) => ((wide[b] ?? 0) > (wide[a] ?? 0) ? b : a), flexible[0] ?? -1);
      if (widest < 0 || (wide[widest] ?? 0) <= NARROWEST) break;
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
