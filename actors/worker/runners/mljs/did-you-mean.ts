import { closest, distance } from 'fastest-levenshtein';

/**
 * The hint ` (did you mean "x"?)` for a misspelt word, or an empty string if no known word is near.
 *
 * @param word what was written
 * @param known the words that would have been accepted
 */
export function didYouMean(word: string, known: readonly string[]): string {
  if (known.length === 0) return '';
  const best = closest(word.toLowerCase(), known);
  const near = distance(word.toLowerCase(), best) <= Math.max(2, Math.floor(best.length / 2));
  return near ? ` (did you mean "${best}"?)` : '';
}
