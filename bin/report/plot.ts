import type { Axis } from '../../machines/results/axis.ts';
import { type Html, html } from './html.ts';

export interface Dot {
  x: number;
  y: number;
}

export interface Dots {
  name: string;
  colour: string;
  points: readonly Dot[];
  joined?: boolean;
}

interface Picture {
  /** In words. */
  summary: string;
  xLabel: string;
  yLabel: string;
  x: Axis;
  y: Axis;
  series: readonly Dots[];
  line?: readonly [Dot, Dot];
  marked?: Dot | undefined;
}

const [WIDTH, HEIGHT] = [460, 320];
const AT = { left: 58, right: WIDTH - 12, top: 10, bottom: HEIGHT - 42 };

/** Points on two axes as SVG, in colours of the page that it is in. */
export function plot({ summary, xLabel, yLabel, x, y, series, line, marked }: Picture): Html {
  const toX = (value: number) => AT.left + ((value - x.from) / (x.to - x.from)) * (AT.right - AT.left);
  const toY = (value: number) => AT.bottom - ((value - y.from) / (y.to - y.from)) * (AT.bottom - AT.top);
  const at = (one: Dot) => `${toX(one.x).toFixed(1)} ${toY(one.y).toFixed(1)}`;
  const middle = [(AT.left + AT.right) / 2, (AT.top + AT.bottom) / 2] as const;
  return html`<figure><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${summary}">
${x.ticks.map((tick) => html`<path class="grid" d="M${toX(tick)} ${AT.top}V${AT.bottom}"/><text class="tick" x="${toX(tick)}" y="${AT.bottom + 14}" text-anchor="middle">${tick}</text>`)}
${y.ticks.map((tick) => html`<path class="grid" d="M${AT.left} ${toY(tick)}H${AT.right}"/><text class="tick" x="${AT.left - 5}" y="${toY(tick) + 3.5}" text-anchor="end">${tick}</text>`)}
<text class="axis" x="${middle[0]}" y="${HEIGHT - 8}" text-anchor="middle">${xLabel}</text>
<text class="axis" transform="translate(12 ${middle[1]}) rotate(-90)" text-anchor="middle">${yLabel}</text>
${line && html`<path class="line" d="M${at(line[0])}L${at(line[1])}"/>`}
${series.map(
  ({ colour, points, joined }) => html`<g style="stroke:${colour}">
${joined && html`<path class="curve" d="${points.map((one, i) => `${i === 0 ? 'M' : 'L'}${at(one)}`).join('')}"/>`}
<path class="dots" d="${points.map((one) => `M${at(one)}h0`).join('')}"/></g>`,
)}
${marked && html`<circle class="marked" cx="${toX(marked.x)}" cy="${toY(marked.y)}" r="7"/>`}
</svg>${series.length > 1 && keys(series)}</figure>`;
}

const keys = (series: readonly Dots[]): Html =>
  html`<figcaption>${series.map(({ name, colour }) => html`<span class="key"><i style="background:${colour}"></i>${name}</span> `)}</figcaption>`;
