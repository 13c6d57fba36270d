import type { PredictionRow } from '../../machines/results/predictions.ts';
import { counted, metric } from './format.ts';
import type { Output } from './output.ts';
import { plain } from './plain.ts';
import { type Column, table } from './table.ts';

/** Rows that a person wants at a glance. */
const SHOWN = 20;
/** Metrics that everybody asks for, in this order. */
const USUAL = ['rmse', 'r2', 'bias', 'mae', 'accuracy'];

interface Reported {
  rows: readonly PredictionRow[];
  /** Where reference values are there. */
  metrics: Readonly<Record<string, unknown>>;
}

/** Predicted values as a table, the first of them, and how good they are where that is known. */
export function predictionsReport({ rows, metrics }: Reported, output: Output): string {
  const { dim } = output.colours;
  const more = rows.length - SHOWN;
  return [
    tableOf(rows.slice(0, SHOWN), output),
    more > 0 ? dim(`  and ${more} more; --out FILE has all of them`) : '',
    measuredLine(rows, metrics),
  ]
    .filter((line) => line !== '')
    .join('\n');
}

/** How good they are; empty where there are no reference values. */
export function measuredLine(rows: Reported['rows'], metrics: Reported['metrics']): string {
  const known = USUAL.filter((name) => typeof metrics[name] === 'number');
  const measured = rows.filter(({ y }) => y !== '').length;
  if (known.length === 0) return '';
  return `${counted(measured, 'reference value')}: ${known.map((name) => `${name} ${metric(metrics[name])}`).join(', ')}`;
}

function tableOf(rows: readonly PredictionRow[], output: Output): string {
  const hasTargets = rows.some(({ target }) => target !== '');
  const hasValues = rows.some(({ y }) => y !== '');
  const columns: Column[] = [
    { title: 'sample', flexible: true },
    ...(hasTargets ? [{ title: 'target', flexible: true }] : []),
    { title: 'predicted', align: 'right' },
    ...(hasValues ? [{ title: 'measured', align: 'right' } as const] : []),
  ];
  return table(
    columns,
    rows.map(({ sample, target, prediction, y }) => [
      plain(sample),
      ...(hasTargets ? [plain(target)] : []),
      number(prediction),
      ...(hasValues ? [y === '' ? '-' : plain(y)] : []),
    ]),
    output,
  );
}

/** Classes as they are, numbers as people read them. */
const number = (text: string): string =>
  text.trim() !== '' && Number.isFinite(Number(text)) ? metric(Number(text)) : plain(text);
