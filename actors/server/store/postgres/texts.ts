/**
 * PostgreSQL has no NUL in its texts, and takes none in a document. So U+FDD0 and a zero stand for it there, and U+FDD0
 * and a one for U+FDD0 itself, which is no character and is used by nobody. The functions of the first migration know of
 * it where they make JSON.
 */
const MARK = '\ufdd0';
const MARKED = /\ufdd0([01])/g;
const UNSTORABLE = /[\0\ufdd0]/g;

export const toStored = (text: string): string =>
  text.includes('\0') || text.includes(MARK)
    ? text.replace(UNSTORABLE, (sign) => (sign === MARK ? `${MARK}1` : `${MARK}0`))
    : text;

export const fromStored = (text: string): string =>
  text.includes(MARK) ? text.replace(MARKED, (_, kind) => (kind === '0' ? '\0' : MARK)) : text;

/** What of a document has to be looked at more closely: JSON writes a NUL and half a surrogate pair as escapes. */
const DOUBTFUL = /\\u0000|\\ud[89a-f]|\ufdd0/;

/**
 * Rows of cells as a document. Numbers are texts in it: PostgreSQL would make a decimal of each, and a text of that, before the
 * column's own type reads it. Half a surrogate pair has no form in UTF-8, so that no store keeps it.
 */
export function documentOf(rows: readonly (string | number | null)[][]): string {
  for (const cells of rows) {
    for (let i = 0; i < cells.length; i++) {
      const cell = cells[i];
      if (typeof cell === 'number') cells[i] = `${cell}`;
    }
  }
  const text = JSON.stringify(rows);
  if (!DOUBTFUL.test(text)) return text;
  return JSON.stringify(
    rows.map((cells) =>
      cells.map((cell) => (typeof cell === 'string' ? toStored(cell.replace(/\p{Cs}/gu, '\ufffd')) : cell)),
    ),
  );
}
