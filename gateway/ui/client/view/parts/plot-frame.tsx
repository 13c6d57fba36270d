import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import type { Axis } from '../../../../../machines/results/axis.ts';
import { save } from '../../api/download.ts';
import { svgFile } from '../../model/svg-file.ts';
import { useFileName } from './file-name.tsx';
import { Icon } from './icon.tsx';

/** What every plot says of itself. */
export interface PlotLabels {
  /** The picture in words. */
  summary: string;
  /** What is drawn, for names of files; they begin with what it is of. */
  name: string;
  xLabel: string;
  yLabel: string;
  x: Axis;
  y: Axis;
  /** What stands at a mark of x, where that is no number. */
  xTick?: (tick: number) => string;
  /** The same of y: names, for which there is room on the left. */
  yTick?: (tick: number) => string;
  /** Heads a column beside the scale, where what has no x is drawn. */
  apart?: string | undefined;
  /** Units of the picture, for more rows than the usual height has room for. */
  height?: number | undefined;
}

const [WIDTH, HEIGHT] = [460, 320];
/** Of the column beside the scale. */
const APART = 56;
/** What is above and below the scale. */
const [TOP, FOOT] = [10, 42];
/** High enough for so many rows whose names can be read. */
export const heightFor = (rows: number): number => Math.max(HEIGHT, TOP + FOOT + rows * 15);
const leftOf = ({ yTick }: Bounds) => (yTick ? 186 : 58);
const rightOf = ({ apart }: Bounds) => WIDTH - 12 - (apart === undefined ? 0 : APART);
const bottomOf = ({ height = HEIGHT }: Bounds) => height - FOOT;
/** How near the pointer has to be, in units of the picture. */
export const NEAR = 14;

/** Where values lie in the picture. */
export interface Scale {
  /** Null is beside the scale. */
  toX(value: number | null): number;
  toY(value: number): number;
}

type Bounds = Pick<PlotLabels, 'x' | 'y' | 'yTick' | 'apart' | 'height'>;

export function scaleOf(of: Bounds): Scale {
  const { x, y } = of;
  const [left, right, bottom] = [leftOf(of), rightOf(of), bottomOf(of)];
  return {
    toX: (value) =>
      value === null ? right + APART / 2 : left + ((value - x.from) / (x.to - x.from)) * (right - left),
    toY: (value) => bottom - ((value - y.from) / (y.to - y.from)) * (bottom - TOP),
  };
}

interface Props extends PlotLabels {
  /** What one goes through with the arrow keys: how many there are, which is pointed at (-1: none), and what that is. */
  steps: { count: number; place: number; words: string | null };
  onStep(place: number): void;
  /** The pointer in units of the picture; null: it left. */
  onPoint(at: { x: number; y: number } | null): void;
  /** A click, or Enter and Space, on what is pointed at. */
  onChoose?: (() => void) | undefined;
  /** Its numbers as lines of CSV. */
  csv(): string[];
  /** Below the picture. */
  keys?: ComponentChildren;
  /** The picture itself. */
  children: ComponentChildren;
}

/**
 * Two axes around a picture: what the pointer or the arrow keys are at is told below. Drawn as SVG and not by the library of
 * the curves over time, which paints on a canvas: it is saved as it is, and points may have no common x.
 */
export function PlotFrame(props: Props) {
  const { summary, name, xLabel, yLabel, x, y, steps, onStep, onPoint, onChoose, csv, keys, children } =
    props;
  const { xTick = String, yTick = String, apart, height = HEIGHT } = props;
  const file = useFileName(name);
  const picture = useRef<SVGSVGElement>(null);
  const { toX, toY } = scaleOf(props);
  const [left, right, bottom] = [leftOf(props), rightOf(props), bottomOf(props)];
  const last = steps.count - 1;
  const point = (event: MouseEvent) => {
    const { left: edge, top, width } = (event.currentTarget as Element).getBoundingClientRect();
    const scale = WIDTH / width;
    onPoint({ x: (event.clientX - edge) * scale, y: (event.clientY - top) * scale });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { place } = steps;
    if (onChoose && place >= 0 && (event.key === 'Enter' || event.key === ' ')) {
      event.preventDefault();
      onChoose();
      return;
    }
    const next = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: last }[event.key];
    if (next === undefined || last < 0) return;
    event.preventDefault();
    onStep(Math.min(last, Math.max(0, next)));
  };
  return (
    <figure class="plot-figure">
      <div
        class={onChoose ? 'plot-place plot-choice' : 'plot-place'}
        role="slider"
        tabIndex={0}
        aria-label={summary}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, last)}
        aria-valuenow={Math.max(0, steps.place)}
        aria-valuetext={steps.words ?? 'no point; the arrow keys go from one to the next'}
        onPointerMove={point}
        onPointerLeave={() => onPoint(null)}
        onClick={(event) => {
          // A finger points at nothing before it taps.
          point(event);
          onChoose?.();
        }}
        onKeyDown={onKeyDown}
      >
        <svg ref={picture} viewBox={`0 0 ${WIDTH} ${height}`} aria-hidden="true">
          {x.ticks.map((tick) => (
            <g key={tick}>
              <line class="plot-grid" x1={toX(tick)} x2={toX(tick)} y1={TOP} y2={bottom} />
              <text class="plot-tick" x={toX(tick)} y={bottom + 14} text-anchor="middle">
                {xTick(tick)}
              </text>
            </g>
          ))}
          {y.ticks.map((tick) => (
            <g key={tick}>
              <line
                class="plot-grid"
                x1={left}
                x2={apart === undefined ? right : WIDTH - 12}
                y1={toY(tick)}
                y2={toY(tick)}
              />
              <text class="plot-tick" x={left - 5} y={toY(tick) + 3.5} text-anchor="end">
                {yTick(tick)}
              </text>
            </g>
          ))}
          {apart !== undefined && (
            <>
              <line class="plot-line" x1={right} x2={right} y1={TOP} y2={bottom} />
              <text class="plot-tick" x={toX(null)} y={bottom + 14} text-anchor="middle">
                {apart}
              </text>
            </>
          )}
          <text class="plot-label" x={(left + right) / 2} y={height - 8} text-anchor="middle">
            {xLabel}
          </text>
          <text
            class="plot-label"
            transform={`translate(12 ${(TOP + bottom) / 2}) rotate(-90)`}
            text-anchor="middle"
          >
            {yLabel}
          </text>
          {children}
        </svg>
      </div>
      {keys}
      <figcaption>
        <span class="plot-words">{steps.words ?? ' '}</span>
        <button
          type="button"
          onClick={() => picture.current && save(svgFile(picture.current), `${file}.svg`)}
          aria-label={`Save the picture ${name} as SVG`}
        >
          <Icon name="download" /> SVG
        </button>
        <button
          type="button"
          onClick={() => save(new Blob(csv(), { type: 'text/csv' }), `${file}.csv`)}
          aria-label={`Save the numbers of ${name} as CSV`}
        >
          <Icon name="download" /> CSV
        </button>
      </figcaption>
    </figure>
  );
}

/** Which colour and shape is what. */
export function PlotKeys({ of }: { of: readonly { name: string; colour: string; crosses?: boolean }[] }) {
  return (
    <ul class="plot-keys">
      {of.map(({ name, colour, crosses }) => (
        <li key={name} class={crosses ? 'cross' : undefined} style={{ '--key': colour }}>
          {name}
        </li>
      ))}
    </ul>
  );
}
