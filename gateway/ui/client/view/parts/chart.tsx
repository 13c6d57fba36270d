import { effect, type ReadonlySignal, useComputed, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { peaksAbove, type Scale } from '../../model/chart-scale.ts';
import { clockTime, count, rounded } from '../../text/format.ts';
import { useDashboard } from '../context.ts';

export interface Curve<Row> {
  key: keyof Row & string;
  label: string;
  /** A custom property of the style sheet. */
  colour: string;
  fill?: boolean;
  dash?: number[];
}

interface Props<Row> {
  title: string;
  unit: string;
  curves: readonly Curve<Row>[];
  rows: ReadonlySignal<readonly Row[]>;
  /** The picture in words. */
  summary: ReadonlySignal<string>;
  /** How high the axis is for the highest value of each moment. */
  scaleOf: (values: readonly number[]) => Scale;
}

const HEIGHT = 112;
/** Pixels right of the plot, for half of the last label. */
const HALF_LABEL = 18;

/** Curves over time, with the values under the pointer (else the newest) in the legend. */
export function Chart<Row extends { ts: number }>(props: Props<Row>) {
  const { title, unit, curves, rows, summary, scaleOf } = props;
  const { theme } = useDashboard();
  const place = useRef<HTMLDivElement>(null);
  const pointed = useSignal<number | null>(null);

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    return effect(() => {
      theme.changes.value;
      return draw(element, props, (index) => {
        pointed.value = index;
      });
    });
  }, []);

  const words = useComputed(() => {
    const values = rows.value.map((row) => Math.max(...curves.map(({ key }) => Number(row[key]))));
    const { capped } = scaleOf(values);
    return capped ? `${summary.value} The peak of ${count(Math.max(...values))} is cut.` : summary.value;
  });
  const row = (pointed.value === null ? undefined : rows.value[pointed.value]) ?? rows.value.at(-1);
  return (
    <>
      <div class="curve-head">
        <h2>{title}</h2>
        <span class="muted">{unit}</span>
        <ul class="legend">
          {curves.map(({ key, label, colour }) => (
            <li key={key} class={`key${colour}`}>
              {label} <b>{row ? count(Number(row[key])) : '–'}</b>
            </li>
          ))}
          {pointed.value !== null && row && <li class="muted">{clockTime(row.ts).slice(0, 5)}</li>}
        </ul>
      </div>
      <div class="plot" ref={place} role="img" aria-label={words.value} />
    </>
  );
}

/** Draws, and again with every change of the rows or the width; returns the way to stop. */
function draw<Row extends { ts: number }>(
  element: HTMLElement,
  { curves, rows, scaleOf }: Props<Row>,
  onPoint: (index: number | null) => void,
): () => void {
  const data = (): uPlot.AlignedData => [
    rows.value.map(({ ts }) => ts),
    ...curves.map(({ key }) => rows.value.map((row) => Number(row[key]))),
  ];
  const options = optionsFor(element, curves, scaleOf, onPoint);
  const plot = new uPlot(options, [[], ...curves.map(() => [])], element);
  const stop = effect(() => plot.setData(data()));
  const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
  observer.observe(element);
  return () => {
    observer.disconnect();
    stop();
    plot.destroy();
  };
}

function optionsFor<Row>(
  element: HTMLElement,
  curves: readonly Curve<Row>[],
  scaleOf: Props<Row>['scaleOf'],
  onPoint: (index: number | null) => void,
): uPlot.Options {
  const colour = (name: string) => resolved(element, name);
  const axis = {
    stroke: colour('--muted'),
    font: `10px ${getComputedStyle(element).fontFamily}`,
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    gap: 4,
  };
  return {
    width: Math.max(50, element.clientWidth),
    height: HEIGHT,
    padding: [14, HALF_LABEL, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: 'hour' }, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { x: { time: true }, y: { range: (plot) => [0, scaleOf(highestOf(plot)).top] } },
    axes: [
      { ...axis, size: 20, values: (_plot, times) => times.map((ts) => clockTime(ts).slice(0, 5)) },
      { ...axis, size: 36, space: 24, incrs: WHOLE, values: (_plot, values) => values.map(rounded) },
    ],
    series: [
      {},
      ...curves.map(
        (curve): uPlot.Series => ({
          stroke: colour(curve.colour),
          width: 1.5,
          points: { show: false },
          ...(curve.fill ? { fill: colour(`${curve.colour}-soft`) } : {}),
          ...(curve.dash ? { dash: curve.dash } : {}),
        }),
      ),
    ],
    hooks: {
      setCursor: [(plot) => onPoint(plot.cursor.idx ?? null)],
      draw: [(plot) => markPeaks(plot, axis.font, colour('--text'))],
    },
  };
}

/** Of each moment the highest of all curves. */
function highestOf({ data: [, ...curves] }: uPlot): number[] {
  const length = curves[0]?.length ?? 0;
  return Array.from({ length }, (_, i) => Math.max(...curves.map((curve) => Number(curve[i] ?? 0))));
}

/** What goes on above the plot: an arrow, and how high. */
function markPeaks(plot: uPlot, font: string, ink: string): void {
  const values = highestOf(plot);
  const { ctx, bbox } = plot;
  const dot = devicePixelRatio;
  ctx.save();
  ctx.font = font.replace('10px', `${10 * dot}px`);
  ctx.fillStyle = ink;
  ctx.textBaseline = 'bottom';
  for (const i of peaksAbove(values, plot.scales.y?.max ?? Infinity)) {
    const x = plot.valToPos(plot.data[0][i] as number, 'x', true);
    const near = x > bbox.left + bbox.width - 40 * dot;
    ctx.textAlign = near ? 'right' : 'left';
    ctx.fillText(count(values[i] as number), near ? x - 6 * dot : x + 6 * dot, bbox.top - 1 * dot);
    ctx.beginPath();
    ctx.moveTo(x - 4 * dot, bbox.top - 3 * dot);
    ctx.lineTo(x + 4 * dot, bbox.top - 3 * dot);
    ctx.lineTo(x, bbox.top - 9 * dot);
    ctx.fill();
  }
  ctx.restore();
}

/** Whole numbers only: there are no half tasks. */
const WHOLE = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((power) => [1, 2, 5].map((step) => step * 10 ** power));

/** A custom property as a colour that a canvas understands, whichever of light and dark applies. */
function resolved(element: HTMLElement, name: string): string {
  const probe = document.createElement('i');
  probe.style.color = `var(${name})`;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
