/** The decimal mark of a file. */
export type DecimalMark = '.' | ',';

const WITH_POINT = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const WITH_COMMA = /^[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?$/;
const MISSING =
  /^([+-]?(nan|inf|infinity|1\.#(inf|qnan|ind))|#?n\/a|na|null|none|nil|missing|-+|\?|#value!|#div\/0!|)$/i;

/** Whether a cell says that there is no value: empty, or one of the words that programs write for it. */
export const isMissing = (text: string): boolean => MISSING.test(text);

/** Whether a cell is a number with either decimal mark. */
export const isNumber = (text: string): boolean => WITH_POINT.test(text) || WITH_COMMA.test(text);

/** Groups of thousands that nothing else is: two marks, several groups, or a blank or an apostrophe between them. */
const GROUPED =
  /^[+-]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:,\d{3})+\.\d+|(?:\.\d{3}){2,}|(?:,\d{3}){2,}|(?:[ \u00a0\u2009\u202f'’]\d{3})+(?:[.,]\d+)?)$/;
/** One that can be a number with three decimals as well. */
const MAYBE_GROUPED = /^[+-]?[1-9]\d{0,2}[.,]\d{3}$/;

/** Whether a cell is a number with a mark for thousands, such as `1.234,5` or `1 234`. */
export const isGrouped = (text: string): boolean => GROUPED.test(text);

/** Whether a cell is one, or a number with three decimals, such as `1,234`. */
export const mayBeGrouped = (text: string): boolean => MAYBE_GROUPED.test(text);

/** Whether a cell is a word: neither a number nor a gap. */
export const isWord = (text: string): boolean => !isNumber(text) && !isMissing(text);

/** The number that a cell says, or NaN where it says none with this decimal mark. */
export function parseNumber(text: string, mark: DecimalMark): number {
  if (mark === '.') return WITH_POINT.test(text) ? Number(text) : Number.NaN;
  return WITH_COMMA.test(text) ? Number(text.replace(',', '.')) : Number.NaN;
}

/** The mark that a cell can only have been written with; null where it does not tell. */
export function markOf(text: string): DecimalMark | null {
  const mark = text.includes('.') ? '.' : text.includes(',') ? ',' : null;
  if (mark === null) return null;
  return (mark === '.' ? WITH_POINT : WITH_COMMA).test(text) ? mark : null;
}
