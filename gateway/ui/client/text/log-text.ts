const ESC = String.fromCharCode(27);
/** Terminal control sequences: CSI (colours, cursor moves) and OSC (titles, links). */
const CONTROL = new RegExp(
  `${ESC}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${ESC}\\u0007]*(?:\\u0007|${ESC}\\\\)|[@-Z\\\\-_])`,
  'g',
);

/** What a program printed for a terminal, as plain text: no control sequences, of an overwritten line its last state. */
export function plainLog(text: string): string {
  return text
    .replace(CONTROL, '')
    .replace(/\r\n/g, '\n')
    .replace(/[^\n]*\r(?=[^\n\r])/g, '');
}
