const ESC = String.fromCharCode(27);
/** Terminal control sequences: CSI (colours, cursor moves) and OSC (titles, links). */
const CONTROL = new RegExp(
  `${ESC}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${ESC}\\u0007]*(?:\\u0007|${ESC}\\\\)|[@-Z\\\\-_])`,
  'g',
);

/**
 * What a program printed for a terminal, as plain text: no control sequences, of an overwritten line its last state.
 */
export function plainLog(text: string): string {
  return text
    .replace(CONTROL, '')
    .replace(/\r\n/g, '\n')
    .replace(/[^\n]*\r(?=[^\n\r])/g, '');
}

/** A line that told the worker how far the task is; the page shows that as a bar. */
const PROGRESS = /^::progress\s+\d*\.?\d+(?:e-?\d+)?(?:\s.*)?$/i;

/** A log without the lines that only told how far the task is, and how many those were. */
export function withoutProgress(text: string): { text: string; folded: number } {
  if (!text.includes('::progress')) return { text, folded: 0 };
  const lines = text.split('\n');
  const kept = lines.filter((line) => !PROGRESS.test(line));
  return { text: kept.join('\n'), folded: lines.length - kept.length };
}
