import { readCsv } from './csv.ts';

/** What a run predicted of a sample that its model had not been fitted on: a line of `predictions.csv`. */
export interface Prediction {
  sample: string;
  partition: string;
  /** Which fold left it out; empty for none. */
  fold: string;
  y: number;
  prediction: number;
  target: string;
}

/** How well values are predicted. */
export interface Figures {
  count: number;
  rmse: number;
  /** Predicted less measured, on average. */
  bias: number;
  /** Null where all measured values are the same. */
  r2: number | null;
}

const COLUMNS = ['sample', 'partition', 'fold', 'y', 'prediction', 'target'] as const;

/** A line of `predictions.csv` as it is written; `y` is empty where it is not known. */
export type PredictionRow = Readonly<Record<(typeof COLUMNS)[number], string>>;

/**
 * Reads `predictions.csv` (docs/runners.md#predictions-and-curves).
 * @throws Error, in a sentence, if it is no such table
 */
export function readPredictions(text: string): PredictionRow[] {
  const [head = [], ...lines] = readCsv(text);
  const places = COLUMNS.map((name) => head.indexOf(name));
  if (places.includes(-1)) throw new Error(`it has no columns ${COLUMNS.join(', ')}`);
  return lines.map(
    (line) =>
      Object.fromEntries(COLUMNS.map((name, i) => [name, line[places[i] as number] ?? ''])) as PredictionRow,
  );
}

/**
 * Those that can be compared with a reference value. Without one there is nothing to draw, nor where values are no
 * numbers, such as classes.
 */
export const measuredIn = (rows: readonly PredictionRow[]): Prediction[] =>
  rows
    .map((row) => ({ ...row, y: numberOf(row.y), prediction: numberOf(row.prediction) }))
    .filter(({ y, prediction }) => Number.isFinite(y) && Number.isFinite(prediction));

/** Both in one. @throws as `readPredictions` */
export const parsePredictions = (text: string): Prediction[] => measuredIn(readPredictions(text));

const numberOf = (cell: string): number => (cell.trim() === '' ? Number.NaN : Number(cell));

export function figuresOf(predictions: readonly Prediction[]): Figures {
  const count = predictions.length;
  const mean = (of: (one: Prediction) => number) =>
    predictions.reduce((sum, one) => sum + of(one), 0) / count;
  const squares = mean(({ y, prediction }) => (prediction - y) ** 2);
  const level = mean(({ y }) => y);
  const spread = mean(({ y }) => (y - level) ** 2);
  return {
    count,
    rmse: Math.sqrt(squares),
    bias: mean(({ y, prediction }) => prediction - y),
    r2: spread === 0 ? null : 1 - squares / spread,
  };
}
