import { axisFor } from '../../machines/results/axis.ts';
import type { SettingCurve } from '../../machines/results/curve-file.ts';
import { groupBy } from '../../machines/results/group.ts';
import { figuresOf, type Prediction } from '../../machines/results/predictions.ts';
import { metric } from '../terminal/format.ts';
import { type Html, html } from './html.ts';
import { type Dots, plot } from './plot.ts';

const PARTITIONS: Readonly<Record<string, string>> = {
  validation: 'cross-validation',
  test: 'test samples',
};
const COLOURS = ['var(--first)', 'var(--second)', 'var(--third)'];

/** What was predicted of held-out samples, by target: figures, and pictures of values and of residuals. */
export function predictedSection(predictions: readonly Prediction[]): Html {
  const targets = [...groupBy(predictions, ({ target }) => target)];
  return html`${targets.map(([target, of]) => ofTarget(target || 'value', of))}`;
}

function ofTarget(target: string, of: readonly Prediction[]): Html {
  const partitions = [...groupBy(of, ({ partition }) => PARTITIONS[partition] ?? partition)];
  const drawn = (yOf: (one: Prediction) => number): Dots[] =>
    partitions.map(([name, members], i) => ({
      name,
      colour: COLOURS[i % COLOURS.length] as string,
      points: members.map((one) => ({ x: one.y, y: yOf(one) })),
    }));
  const both = axisFor(of.flatMap(({ y, prediction }) => [y, prediction]));
  const x = axisFor(of.map(({ y }) => y));
  const residual = ({ y, prediction }: Prediction) => prediction - y;
  const summary = partitions
    .map(([name, members]) => `${name}: ${members.length} samples, RMSE ${metric(figuresOf(members).rmse)}`)
    .join('; ');
  return html`<div class="plots">
${plot({
  summary: `Predicted against measured ${target}. ${summary}`,
  ...{ xLabel: `measured ${target}`, yLabel: `predicted ${target}`, x: both, y: both },
  series: drawn(({ prediction }) => prediction),
  line: [
    { x: both.from, y: both.from },
    { x: both.to, y: both.to },
  ],
})}
${plot({
  summary: `Predicted less measured ${target}`,
  ...{ xLabel: `measured ${target}`, yLabel: 'predicted less measured', x },
  y: axisFor([0, ...of.map(residual)]),
  series: drawn(residual),
  line: [
    { x: x.from, y: 0 },
    { x: x.to, y: 0 },
  ],
})}
</div>
<table><thead><tr><th>${target}</th><th class="n">samples</th><th class="n">R²</th><th class="n">RMSE</th><th class="n">bias</th></tr></thead>
<tbody>${partitions.map(([name, members]) => {
    const { count, r2, rmse, bias } = figuresOf(members);
    return html`<tr><th>${name}</th>${[count, r2, rmse, bias].map((value) => html`<td class="n" title="${value}">${metric(value)}</td>`)}</tr>`;
  })}</tbody></table>`;
}

/** How errors go along with a setting. */
export function curveSection(curves: readonly SettingCurve[]): Html {
  return html`<div class="plots">${curves.map(({ of, x, series, chosen }) => {
    const [name = '', values = []] = Object.entries(series)[0] ?? [];
    const points = x.values.flatMap((at, i) => {
      const value = values[i];
      return typeof value === 'number' ? [{ x: at, y: value }] : [];
    });
    return plot({
      summary: `${name} of ${of} by ${x.name}; chosen: ${chosen ?? 'none'}`,
      ...{ xLabel: x.name, yLabel: `${name} of ${of}` },
      x: axisFor(x.values, Math.min(10, x.values.length)),
      y: axisFor(points.map((point) => point.y)),
      series: [{ name, colour: 'var(--first)', points, joined: true }],
      marked: points.find((point) => point.x === chosen),
    });
  })}</div>`;
}
