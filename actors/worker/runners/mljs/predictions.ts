import type { Dataset, Samples } from './dataset.ts';
import type { Evaluation } from './evaluate.ts';
import type { Fold } from './folds.ts';

/** File names in the output folder; docs/runners.md#predictions-and-curves says what they hold. */
export const PREDICTIONS_FILE = 'predictions.csv';
export const CURVES_FILE = 'curves.json';

/** Rows at most; a file of them is drawn in a browser. */
export const MOST_PREDICTIONS = 100_000;

const HEADER = 'sample,partition,fold,y,prediction,target';

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
  const target = cell(dataset.target ?? '');
  const lines: string[] = [];
  const add = ({ names, y }: Samples, row: number, partition: string, predicted: number) => {
    lines.push(`${cell(names[row] as string)},${partition},${y[row]},${predicted},${target}`);
  };
  if (validated) {
    const { evaluation, folds, chosen } = validated;
    const predicted = evaluation.predictions[chosen] as number[];
    folds.forEach(({ heldOut }, fold) => {
      for (const row of heldOut) add(dataset.train, row, `validation,${fold + 1}`, predicted[row] as number);
    });
  }
  const { test } = dataset;
  for (const [row, predicted] of (test && tested ? tested : []).entries())
    add(test as Samples, row, 'test,', predicted);
  const kept = lines.slice(0, MOST_PREDICTIONS);
  return { text: `${[HEADER, ...kept].join('\n')}\n`, leftOut: lines.length - kept.length };
}

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
