import type { MatrixRow } from '../../../../machines/results/overview.ts';

interface Heat {
  metric: string;
  datasets: readonly string[];
  rows: readonly MatrixRow[];
  /** What stands in the cells, row by row. */
  written: readonly (readonly string[])[];
}

/** Units of the picture; a letter is about so wide. */
const ROW = 24;
const LETTER = 7;
/** The table's colour for the best, as it is on a light page, and how much of it there is at most. */
const BEST = '#2457c5';
const STRONGEST = 0.45;

/** Pipelines by datasets as a picture of its own, in light colours. */
export function heatFile({ metric, datasets, rows, written }: Heat): Blob {
  const wide = (texts: readonly string[]) => Math.max(...texts.map((text) => text.length)) * LETTER + 20;
  const left = wide(rows.map(({ pipeline }) => pipeline));
  const widths = datasets.map((name, i) => wide([name, ...written.map((row) => row[i] ?? '')]));
  const starts = widths.map((_, i) => left + widths.slice(0, i).reduce((sum, one) => sum + one, 0));
  const [width, height] = [left + widths.reduce((sum, one) => sum + one, 0), (rows.length + 2) * ROW];
  const line = (row: number) => (row + 1) * ROW + 16;
  const text = (x: number, y: number, words: string, more = '') =>
    `<text x="${x}" y="${y}"${more}>${escaped(words)}</text>`;
  const atEnd = (i: number, y: number, words: string, more = '') =>
    text((starts[i] ?? 0) + (widths[i] ?? 0) - 8, y, words, ` text-anchor="end"${more}`);
  const cells = rows.flatMap(({ cells: row }, r) =>
    row.flatMap((cell, i) => {
      const words = written[r]?.[i] ?? '';
      if (cell === 'failed') return [atEnd(i, line(r + 1), words, ' fill="#b3261e"')];
      if (cell === null) return [atEnd(i, line(r + 1), words)];
      const at = `x="${starts[i]}" y="${(r + 2) * ROW}" width="${widths[i]}" height="${ROW}"`;
      const ground = `<rect ${at} fill="${BEST}" fill-opacity="${(cell.share * STRONGEST).toFixed(3)}"/>`;
      return [ground, atEnd(i, line(r + 1), words, cell.share === 1 ? ' font-weight="700"' : '')];
    }),
  );
  const parts = [
    `<rect width="100%" height="100%" fill="#fff"/>`,
    text(8, 16, `${metric}: the stronger the colour, the better on its dataset`),
    ...datasets.map((name, i) => atEnd(i, line(0), name, ' font-weight="700"')),
    ...rows.map(({ pipeline }, r) => text(8, line(r + 1), pipeline)),
    ...cells,
  ];
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}"`;
  const font = 'font-family="sans-serif" font-size="12" fill="#1b2430"';
  return new Blob([`${head} ${font}>${parts.join('')}</svg>`], { type: 'image/svg+xml' });
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
