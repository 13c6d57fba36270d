import type { Dataset, Samples } from './dataset.ts';
import type { Evaluation } from './evaluate.ts';
import type { Fold } from './folds.ts';

/** File names in the output folder; docs/runners.md#predictions-and-curves says what they hold. */
export const PREDICTIONS_FILE = 'predictions.csv';
export const CURVES_FILE = 'curves.json';

/** Rows at most; a file of them is drawn in a browser. */
export const MOST_PREDICTIONS = 100_000;

export const HEADER = 'sample,partition,fold,y,prediction,target';

/** What a run predicted of samples by models that were not fitted on them. */
export interface Predicted {
  dataset: Dataset;
  /** Cross-validation, and which of its component counts was chosen. */
  validated: { evaluation: Evaluation; folds: readonly Fold[]; chosen: number } | null;
  /** Of the test rows by the model. */
  tested: readonly number[] | null;
}

/** The predictions as CSV: those of cross-validation fold by fold, then those of the test rows. */
export function predictionsCsv({ dataset, validated, tested }: Predicted): { text: string; leftOut: number } {
  const lines: string[] = [];
  const add = ({ names, y }: Samples, row: number, where: Where, predicted: number) => {
    const [sample, value] = [names[row] as string, y[row] as number];
    lines.push(lineOf({ sample, ...where, y: value, prediction: predicted, target: dataset.target }));
  };
  if (validated) {
    const { evaluation, folds, chosen } = validated;
    const predicted = evaluation.predictions[chosen] as number[];
    folds.forEach(({ heldOut }, fold) => {
      for (const row of heldOut)
        add(
          dataset.train,
          row,
          { partition: 'validation', fold: String(fold + 1) },
          predicted[row] as number,
        );
    });
  }
  const { test } = dataset;
  for (const [row, predicted] of (test && tested ? tested : []).entries())
    add(test as Samples, row, { partition: 'test', fold: '' }, predicted);
  const kept = lines.slice(0, MOST_PREDICTIONS);
  return { text: `${[HEADER, ...kept].join('\n')}\n`, leftOut: lines.length - kept.length };
}

type Where = Pick<PredictionLine, 'partition' | 'fold'>;

/** A line of the file. */
export interface PredictionLine {
  sample: string;
  partition: 'validation' | 'test' | 'predicted';
  fold: string;
  /** Null where it is not known. */
  y: number | null;
  prediction: number;
  target: string | null;
}

export const lineOf = ({ sample, partition, fold, y, prediction, target }: PredictionLine): string =>
  [cell(sample), partition, fold, y ?? '', prediction, cell(target ?? '')].join(',');

/** How the errors of cross-validation go with the number of components; null where only one was tried. */
export function componentCurves({ evaluation: { scores }, chosen }: NonNullable<Predicted['validated']>) {
  if (scores.length < 2) return null;
  const series = (of: 'rmse' | 'r2' | 'mae') => scores.map((one) => one[of]);
  return {
    curves: [
      {
        of: 'cross-validation',
        x: { name: 'components', values: scores.map(({ components }) => components) },
        series: { rmse: series('rmse'), r2: series('r2'), mae: series('mae') },
        chosen: scores[chosen]?.components,
      },
    ],
  };
}

/** RFC 4180. */
const cell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
