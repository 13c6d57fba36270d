/** A table in Markdown; columns are as wide as their longest cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows].map((row) => row.map(cell));
  const widths = head.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, i) => (row[i] ?? '').padEnd(width)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  const [first, ...rest] = all as [string[], ...string[][]];
  return [line(first), rule, ...rest.map(line)].join('\n');
}

/** Without what would end a cell or a line of the table, or begin an element of HTML. */
const cell = (text: string): string =>
  text
    .split(/(`[^`]*`)/)
    .map((piece) => (piece.startsWith('`') ? piece : piece.replaceAll('<', '\\<')))
    .join('')
    .replaceAll('|', '\\|')
    .replaceAll(/\s*\n\s*/g, ' ');
