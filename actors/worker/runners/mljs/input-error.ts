import { closest, distance } from 'fastest-levenshtein';

/**
 * A fault in what the user handed in (task file, pipeline, dataset).
 *
 * It is kept apart from other errors because running the task again cannot help: `main.ts` ends with exit
 * code 2 for it, so that the caller does not retry. The message is one line and names the file or step.
 */
export class JobInputError extends Error {
  override name = 'InputError';
}

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
