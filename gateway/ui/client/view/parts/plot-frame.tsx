import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import type { Axis } from '../../../../../machines/results/axis.ts';
import { save } from '../../api/download.ts';
import { svgFile } from '../../model/svg-file.ts';
import { Icon } from './icon.tsx';

/** What every plot says of itself. */
export interface PlotLabels {
  /** The picture in words. */
  summary: string;
  /** The file name of the picture, without its ending. */
  name: string;
  xLabel: string;
  yLabel: string;
  x: Axis;
  y: Axis;
  /** What stands at a mark of x, where that is no number. */
  xTick?: (tick: number) => string;
  /** The same of y: names, for which there is room on the left. */
  yTick?: (tick: number) => string;
}

const [WIDTH, HEIGHT] = [460, 320];
const AT = { right: WIDTH - 12, top: 10, bottom: HEIGHT - 42 };
const leftOf = ({ yTick }: Pick<PlotLabels, 'yTick'>) => (yTick ? 168 : 58);
/** How near the pointer has to be, in units of the picture. */
export const NEAR = 14;

/** Where values lie in the picture. */
export interface Scale {
  toX(value: number): number;
  toY(value: number): number;
}

export const scaleOf = ({ x, y, ...labels }: Pick<PlotLabels, 'x' | 'y' | 'yTick'>): Scale => ({
  toX: (value) => leftOf(labels) + ((value - x.from) / (x.to - x.from)) * (AT.right - leftOf(labels)),
  toY: (value) => AT.bottom - ((value - y.from) / (y.to - y.from)) * (AT.bottom - AT.top),
});

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
  const { xTick = String, yTick = String } = props;
  const picture = useRef<SVGSVGElement>(null);
  const { toX, toY } = scaleOf(props);
  const left = leftOf(props);
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
        <svg ref={picture} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
          {x.ticks.map((tick) => (
            <g key={tick}>
              <line class="plot-grid" x1={toX(tick)} x2={toX(tick)} y1={AT.top} y2={AT.bottom} />
              <text class="plot-tick" x={toX(tick)} y={AT.bottom + 14} text-anchor="middle">
                {xTick(tick)}
              </text>
            </g>
          ))}
          {y.ticks.map((tick) => (
            <g key={tick}>
              <line class="plot-grid" x1={left} x2={AT.right} y1={toY(tick)} y2={toY(tick)} />
              <text class="plot-tick" x={left - 5} y={toY(tick) + 3.5} text-anchor="end">
                {yTick(tick)}
              </text>
            </g>
          ))}
          <text class="plot-label" x={(left + AT.right) / 2} y={HEIGHT - 8} text-anchor="middle">
            {xLabel}
          </text>
          <text
            class="plot-label"
            transform={`translate(12 ${(AT.top + AT.bottom) / 2}) rotate(-90)`}
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
          onClick={() => picture.current && save(svgFile(picture.current), `${name}.svg`)}
          aria-label={`Save the picture ${name} as SVG`}
        >
          <Icon name="download" /> SVG
        </button>
        <button
          type="button"
          onClick={() => save(new Blob(csv(), { type: 'text/csv' }), `${name}.csv`)}
          aria-label={`Save the numbers of ${name} as CSV`}
        >
          <Icon name="download" /> CSV
        </button>
      </figcaption>
    </figure>
  );
}

/** Which colour is what. */
export function PlotKeys({ of }: { of: readonly { name: string; colour: string }[] }) {
  return (
    <ul class="plot-keys">
      {of.map(({ name, colour }) => (
        <li key={name} style={{ '--key': colour }}>
          {name}
        </li>
      ))}
    </ul>
  );
}
