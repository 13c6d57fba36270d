/**
 * Splits a command line into words as a POSIX shell does for quotes and backslashes alone: `'…'` keeps everything,
 * `"…"` all but `\"`, `\\`, `\$` and `` \` ``, a backslash outside keeps the next character. Variables, globs,
 * pipes and the like mean nothing here.
 *
 * @returns the words, or null if a quotation mark is not closed or the line ends with a backslash
 */
export function splitCommand(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  // One piece at a time: blanks, a quoted part, an escaped character, or plain characters.
  const piece = /(\s+)|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)/sy;
  while (piece.lastIndex < line.length) {
    const match = piece.exec(line);
    if (!match) return null;
    const [, blanks, single, double, escaped, plain] = match;
    if (blanks !== undefined) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + (single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain ?? '');
  }
  if (word !== null) words.push(word);
  return words;
}
