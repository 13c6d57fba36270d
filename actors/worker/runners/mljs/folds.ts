import { shuffledIndices } from './random.ts';

/** How the training rows are split: every row held out once, or `folds` groups. */
export type Split =
  | { kind: 'leave_one_out' }
  | { kind: 'k_fold'; folds: number; shuffle: boolean; seed: number | null };

/** A fold: indices of the rows fitted on and of the rows held out, both ascending. */
export interface Fold {
  train: number[];
  heldOut: number[];
}

/** Above this many rows, leave-one-out costs more than it tells; see {@link defaultSplit}. */
export const LEAVE_ONE_OUT_LIMIT = 100;

/** The split of a pipeline that names none: leave-one-out for up to 100 rows, else 10 shuffled folds. */
export function defaultSplit(rows: number): Split {
  if (rows <= LEAVE_ONE_OUT_LIMIT) return { kind: 'leave_one_out' };
  return { kind: 'k_fold', folds: 10, shuffle: true, seed: null };
}

/** The number of folds a split makes of so many rows. */
export function foldCount(rows: number, split: Split): number {
  return split.kind === 'leave_one_out' ? rows : split.folds;
}

/** The number of rows left to fit on in the fold that holds out most. */
export function smallestTraining(rows: number, split: Split): number {
  return rows - Math.ceil(rows / foldCount(rows, split));
}

/**
 * Splits rows into folds whose sizes differ by at most one.
 *
 * @param rows number of rows, at least the number of folds
 * @param split how to split; without its own seed, a shuffle uses `randomState`
 * @returns the folds; each row is held out in exactly one of them
 */
export function makeFolds(rows: number, split: Split, randomState: number): Fold[] {
  const seed = split.kind === 'k_fold' ? (split.seed ?? randomState) : 0;
  const shuffle = split.kind === 'k_fold' && split.shuffle;
  const order = shuffle ? shuffledIndices(rows, seed) : Array.from({ length: rows }, (_, i) => i);
  const count = foldCount(rows, split);
  const groups = Array.from({ length: count }, (_, fold) => {
    const start = Math.floor((fold * rows) / count);
    return order.slice(start, Math.floor(((fold + 1) * rows) / count)).sort((a, b) => a - b);
  });
  return groups.map((heldOut) => {
    const out = new Set(heldOut);
    return { heldOut, train: Array.from({ length: rows }, (_, i) => i).filter((i) => !out.has(i)) };
  });
}
