import { useSignal } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import type { Axis } from '../../../../../machines/results/axis.ts';
import { csvLine } from '../../../../../machines/results/csv.ts';
import { save } from '../../api/download.ts';
import { svgFile } from '../../model/svg-file.ts';
import { Icon } from './icon.tsx';

export interface Point {
  x: number;
  y: number;
  /** What it is, for whoever points at it. */
  words: string;
}

export interface Series {
  name: string;
  /** A colour of CSS. */
  colour: string;
  points: readonly Point[];
  joined?: boolean;
}

interface Props {
  /** The picture in words. */
  summary: string;
  /** The file name of the picture, without its ending. */
  name: string;
  xLabel: string;
  yLabel: string;
  x: Axis;
  y: Axis;
  series: readonly Series[];
  /** From one corner of the plot to another, such as the line on which predicted equals measured. */
  line?: readonly [from: { x: number; y: number }, to: { x: number; y: number }];
  /** Stands out. */
  marked?: Point | undefined;
}

const [WIDTH, HEIGHT] = [460, 320];
const AT = { left: 58, right: WIDTH - 12, top: 10, bottom: HEIGHT - 42 };
/** How near the pointer has to be, in units of the picture. */
const NEAR = 14;

/**
 * Points, and lines between them, on two axes: what the pointer or the arrow keys are at is told below. Drawn as SVG and not
 * by the library of the curves over time, which paints on a canvas: it is saved as it is, and its points have no common x.
 */
export function Plot({ summary, name, xLabel, yLabel, x, y, series, line, marked }: Props) {
  const picture = useRef<SVGSVGElement>(null);
  const pointed = useSignal<Point | null>(null);
  const toX = (value: number) => AT.left + ((value - x.from) / (x.to - x.from)) * (AT.right - AT.left);
  const toY = (value: number) => AT.bottom - ((value - y.from) / (y.to - y.from)) * (AT.bottom - AT.top);
  const all = useMemo(() => series.flatMap(({ points }) => points), [series]);
  const ordered = useMemo(() => [...all].sort((a, b) => a.x - b.x), [all]);
  const place = pointed.value === null ? -1 : ordered.indexOf(pointed.value);
  const point = ordered[place] ?? null;

  const onPointerMove = (event: PointerEvent) => {
    const { left, top, width } = (event.currentTarget as Element).getBoundingClientRect();
    const scale = WIDTH / width;
    const [atX, atY] = [(event.clientX - left) * scale, (event.clientY - top) * scale];
    let nearest: Point | null = null;
    let least = NEAR ** 2;
    for (const one of all) {
      const distance = (toX(one.x) - atX) ** 2 + (toY(one.y) - atY) ** 2;
      if (distance <= least) [nearest, least] = [one, distance];
    }
    pointed.value = nearest;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const last = ordered.length - 1;
    const next = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    pointed.value = ordered[Math.min(last, Math.max(0, next))] ?? null;
  };
  return (
    <figure class="plot-figure">
      <div
        class="plot-place"
        role="slider"
        tabIndex={0}
        aria-label={summary}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, ordered.length - 1)}
        aria-valuenow={Math.max(0, place)}
        aria-valuetext={point?.words ?? 'no point; the arrow keys go from one to the next'}
        onPointerMove={onPointerMove}
        onPointerLeave={() => {
          pointed.value = null;
        }}
        onKeyDown={onKeyDown}
      >
        <svg ref={picture} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
          {x.ticks.map((tick) => (
            <g key={tick}>
              <line class="plot-grid" x1={toX(tick)} x2={toX(tick)} y1={AT.top} y2={AT.bottom} />
              <text class="plot-tick" x={toX(tick)} y={AT.bottom + 14} text-anchor="middle">
                {tick}
              </text>
            </g>
          ))}
          {y.ticks.map((tick) => (
            <g key={tick}>
              <line class="plot-grid" x1={AT.left} x2={AT.right} y1={toY(tick)} y2={toY(tick)} />
              <text class="plot-tick" x={AT.left - 5} y={toY(tick) + 3.5} text-anchor="end">
                {tick}
              </text>
            </g>
          ))}
          <text class="plot-label" x={(AT.left + AT.right) / 2} y={HEIGHT - 8} text-anchor="middle">
            {xLabel}
          </text>
          <text
            class="plot-label"
            transform={`translate(12 ${(AT.top + AT.bottom) / 2}) rotate(-90)`}
            text-anchor="middle"
          >
            {yLabel}
          </text>
          {line && (
            <line
              class="plot-line"
              x1={toX(line[0].x)}
              y1={toY(line[0].y)}
              x2={toX(line[1].x)}
              y2={toY(line[1].y)}
            />
          )}
          {series.map(({ name: of, colour, points, joined }) => (
            <g key={of} style={{ stroke: colour }}>
              {joined && (
                <path
                  class="plot-curve"
                  d={points.map((one, i) => `${i === 0 ? 'M' : 'L'}${at(one)}`).join('')}
                />
              )}
              {/* One path for all of them: lines without a length, of which only the round ends are seen. */}
              <path class="plot-dots" d={points.map((one) => `M${at(one)}h0`).join('')} />
            </g>
          ))}
          {marked && <circle class="plot-marked" cx={toX(marked.x)} cy={toY(marked.y)} r={7} />}
          {point && <circle class="plot-pointed" cx={toX(point.x)} cy={toY(point.y)} r={5.5} />}
        </svg>
      </div>
      {series.length > 1 && (
        <ul class="plot-keys">
          {series.map(({ name: of, colour }) => (
            <li key={of} style={{ '--key': colour }}>
              {of}
            </li>
          ))}
        </ul>
      )}
      <figcaption>
        <span class="plot-words">{point?.words ?? ' '}</span>
        <button
          type="button"
          onClick={() => picture.current && save(svgFile(picture.current), `${name}.svg`)}
          aria-label={`Save the picture ${name} as SVG`}
        >
          <Icon name="download" /> SVG
        </button>
        <button
          type="button"
          onClick={() => save(csvFile(), `${name}.csv`)}
          aria-label={`Save the numbers of ${name} as CSV`}
        >
          <Icon name="download" /> CSV
        </button>
      </figcaption>
    </figure>
  );

  function csvFile(): Blob {
    const lines = series.flatMap(({ name: of, points }) =>
      points.map((one) => csvLine([of, one.x, one.y, one.words])),
    );
    return new Blob([csvLine(['series', xLabel, yLabel, 'words']), ...lines], { type: 'text/csv' });
  }

  function at(one: Point): string {
    return `${toX(one.x).toFixed(1)} ${toY(one.y).toFixed(1)}`;
  }
}
