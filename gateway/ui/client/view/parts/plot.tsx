import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { type CsvCell, csvLine } from '../../../../../machines/results/csv.ts';
import { NEAR, PlotFrame, PlotKeys, type PlotLabels, scaleOf } from './plot-frame.tsx';

export interface Point {
  /** Null for what has none: it is drawn beside the scale. */
  x: number | null;
  y: number;
  /** What it is, for whoever points at it. */
  words: string;
}

export interface Series<One extends Point = Point> {
  name: string;
  /** A colour of CSS. */
  colour: string;
  points: readonly One[];
  joined?: boolean;
  /** Drawn as crosses instead of dots, so that not the colour alone tells them apart. */
  crosses?: boolean;
}

interface Props<One extends Point> extends PlotLabels {
  series: readonly Series<One>[];
  /** From one corner of the plot to another, such as the line on which predicted equals measured. */
  line?: readonly [from: { x: number; y: number }, to: { x: number; y: number }];
  /** The saved table, where it is more than what is drawn. */
  table?: { head: readonly string[]; row(point: One): readonly CsvCell[] };
  /** By what one goes through the points with the arrow keys. */
  along?: 'x' | 'y';
  /** Stands out. */
  marked?: Point | undefined;
  /** A click on a point, or Enter where the arrow keys are. */
  onChoose?: ((point: One) => void) | undefined;
}

/** From its middle. */
const CROSS = 'm-3.5 -3.5l7 7m0 -7l-7 7';

/** Points, and lines between them, on two axes. */
export function Plot<One extends Point>(props: Props<One>) {
  const { series, line, table, along = 'x', marked, onChoose, ...labels } = props;
  const pointed = useSignal<One | null>(null);
  const { toX, toY } = scaleOf(labels);
  const all = useMemo(() => series.flatMap(({ points }) => points), [series]);
  const ordered = useMemo(() => [...all].sort((a, b) => (a[along] ?? 0) - (b[along] ?? 0)), [all]);
  const place = pointed.value === null ? -1 : ordered.indexOf(pointed.value);
  const point = ordered[place] ?? null;
  const at = (one: Point) => `${toX(one.x).toFixed(1)} ${toY(one.y).toFixed(1)}`;

  const nearestTo = ({ x, y }: { x: number; y: number }): One | null => {
    let nearest: One | null = null;
    let least = NEAR ** 2;
    for (const one of all) {
      const distance = (toX(one.x) - x) ** 2 + (toY(one.y) - y) ** 2;
      if (distance <= least) [nearest, least] = [one, distance];
    }
    return nearest;
  };
  return (
    <PlotFrame
      {...labels}
      steps={{ count: ordered.length, place, words: point?.words ?? null }}
      onStep={(next) => {
        pointed.value = ordered[next] ?? null;
      }}
      onPoint={(where) => {
        pointed.value = where && nearestTo(where);
      }}
      onChoose={onChoose && (() => pointed.value && onChoose(pointed.value))}
      csv={() => [
        csvLine(table?.head ?? ['series', labels.xLabel, labels.yLabel, 'words']),
        ...series.flatMap(({ name, points }) =>
          points.map((one) => csvLine(table?.row(one) ?? [name, one.x, one.y, one.words])),
        ),
      ]}
      keys={series.length > 1 && <PlotKeys of={series} />}
    >
      {line && (
        <line
          class="plot-line"
          x1={toX(line[0].x)}
          y1={toY(line[0].y)}
          x2={toX(line[1].x)}
          y2={toY(line[1].y)}
        />
      )}
      {series.map(({ name, colour, points, joined, crosses }) => (
        <g key={name} style={{ stroke: colour }}>
          {joined && (
            <path
              class="plot-curve"
              d={points.map((one, i) => `${i === 0 ? 'M' : 'L'}${at(one)}`).join('')}
            />
          )}
          {/* One path for all of them: lines without a length, of which only the round ends are seen. */}
          <path
            class={crosses ? 'plot-crosses' : 'plot-dots'}
            d={points.map((one) => `M${at(one)}${crosses ? CROSS : 'h0'}`).join('')}
          />
        </g>
      ))}
      {marked && <circle class="plot-marked" cx={toX(marked.x)} cy={toY(marked.y)} r={7} />}
      {point && <circle class="plot-pointed" cx={toX(point.x)} cy={toY(point.y)} r={5.5} />}
    </PlotFrame>
  );
}
