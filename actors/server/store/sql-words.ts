/** Words of the program's own, as SQL compares a column with them: `IN (…)`. */
export const sqlWords = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ');
