import type { SettingCurve } from '../../machines/results/curve-file.ts';
import { groupBy } from '../../machines/results/group.ts';
import { figuresOf, type Prediction } from '../../machines/results/predictions.ts';
import { Canvas } from './canvas.ts';
import { drawCurves } from './curves.ts';
import { metric } from './format.ts';
import type { Output } from './output.ts';
import { plain } from './plain.ts';
import { table } from './table.ts';

/** Characters of a picture: as high as it is wide, about. */
const SIZE = { width: 44, height: 16 };
const CURVE = { width: 44, height: 6 };
const PARTITIONS: Readonly<Record<string, string>> = { validation: 'cross-validation', test: 'test samples' };

/** Predicted against measured, with the line on which both are the same, and how well it is predicted; by target. */
export function predictedReport(predictions: readonly Prediction[], output: Output): string {
  const targets = [...groupBy(predictions, ({ target }) => target)];
  return targets.map(([target, of]) => ofTarget(target || 'value', of, output)).join('\n\n');
}

function ofTarget(target: string, of: readonly Prediction[], output: Output): string {
  const { dim, bold } = output.colours;
  const values = of.flatMap(({ y, prediction }) => [y, prediction]);
  const [least, most] = values.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
  const canvas = new Canvas(SIZE);
  const share = (value: number) => (value - least) / (most - least || 1);
  const toX = (value: number) => Math.round(share(value) * (canvas.columns - 1));
  const toY = (value: number) => Math.round((1 - share(value)) * (canvas.rows - 1));
  // Every fourth dot, so that it is told from what was predicted.
  for (let x = 0; x < canvas.columns; x += 4)
    canvas.dot(x, Math.round((1 - x / (canvas.columns - 1)) * (canvas.rows - 1)));
  for (const { y, prediction } of of) {
    const [x, at] = [toX(y), toY(prediction)];
    for (const [dx, dy] of [
      [0, 0],
      [1, 0],
      [0, 1],
      [1, 1],
    ] as const) {
      canvas.dot(Math.min(canvas.columns - 1, x + dx), Math.min(canvas.rows - 1, at + dy));
    }
  }
  const rows = [...groupBy(of, ({ partition }) => partition)].map(([partition, members]) => {
    const { count, r2, rmse, bias } = figuresOf(members);
    const name = plain(PARTITIONS[partition] ?? partition);
    return [name, String(count), metric(r2), metric(rmse), metric(bias)];
  });
  const right = { align: 'right' as const };
  const columns = [{ title: '' }, ...['samples', 'R²', 'RMSE', 'bias'].map((title) => ({ title, ...right }))];
  return [
    bold(`predicted ${plain(target)} against measured`),
    framed(canvas.lines, { top: metric(most), bottom: metric(least) }, output),
    dim(under(metric(least), metric(most), SIZE.width)),
    dim(
      'to the right: measured, upwards: predicted; a thick dot is a sample, on the dotted line both are the same',
    ),
    table(columns, rows, output),
  ].join('\n');
}

/** How the first metric of a curve goes along with its setting. */
export function curveReport({ of, x, series, chosen }: SettingCurve, output: Output): string {
  const { bold, dim } = output.colours;
  const [name = '', all = []] = Object.entries(series)[0] ?? [];
  const known = x.values.flatMap((at, i) => {
    const value = all[i];
    return typeof value === 'number' ? [{ at, value }] : [];
  });
  const [first, last] = [known[0], known.at(-1)];
  if (!first || !last || known.length < 2) return '';
  const { lines, min, max } = drawCurves([known.map(({ value }) => value)], CURVE);
  const best = known.find(({ at }) => at === chosen);
  const title = `${plain(name)} of ${plain(of)} by ${plain(x.name)}`;
  return [
    bold(title) + (best ? `, chosen: ${best.at} (${metric(best.value)})` : ''),
    framed(lines, { top: metric(max), bottom: metric(min) }, output),
    dim(under(String(first.at), String(last.at), CURVE.width)),
  ].join('\n');
}

/** Characters of the numbers beside a picture. */
const MARGIN = 10;

function framed(
  lines: readonly string[],
  { top, bottom }: { top: string; bottom: string },
  { colours: { dim } }: Output,
): string {
  const beside = (i: number) => (i === 0 ? top : i === lines.length - 1 ? bottom : '');
  return lines.map((line, i) => `${dim(`${beside(i).padStart(MARGIN)} ▏`)}${line}`).join('\n');
}

const under = (left: string, right: string, width: number): string =>
  `${' '.repeat(MARGIN + 2)}${left}${right.padStart(width - left.length)}`;
