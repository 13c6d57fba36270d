import { distance } from 'fastest-levenshtein';

/** The known word that a person probably meant, or undefined when none is near. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const meant = word.toLowerCase();
  const ranked = known.map((k) => [distance(meant, k.toLowerCase()), k] as const);
  ranked.sort(([a], [b]) => a - b);
  const best = ranked[0];
  // Of a word of two letters one has to be right, of a longer one more than half: `wait` is not `last`.
  const wrong = best?.[0] ?? word.length;
  const isNear =
    wrong <= Math.ceil(word.length / 3) && wrong < word.length && wrong * 2 < Math.max(word.length, 3);
  if (isNear) return best?.[1];
  // The same letters in another order, as `mni` for `min`.
  const letters = (text: string) => [...text.toLowerCase()].sort().join('');
  const mixed = known.find((k) => k.length === word.length && letters(k) === letters(word));
  if (mixed !== undefined) return mixed;
  // A part of the name, as `attempts` of `max_attempts`.
  return meant.length >= 4 ? known.find((k) => k.toLowerCase().includes(meant)) : undefined;
}

/** Such a word as the end of a sentence; empty where none is near. */
export const didYouMean = (near: string | undefined): string =>
  near === undefined ? '' : `, did you mean '${near}'?`;
