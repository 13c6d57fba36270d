import type { Chart, ChartState } from '../../../../../machines/charts/graph.ts';
import { type Group, type Outline, outlineOf, type Shown } from './outline.ts';

/** Points and rectangles in pixels, y downwards. */
export interface Point {
  x: number;
  y: number;
}

/** By its upper left corner. */
export interface Rect extends Point {
  width: number;
  height: number;
}

/**
 * Where everything of an outline stands, in its order: width and height of all, four numbers for each state
 * (x, y, width, height), and for each group of arrows the four of its label and the points of its line, in pairs.
 */
export type Layout = readonly [
  width: number,
  height: number,
  boxes: readonly number[],
  lines: readonly (readonly number[])[],
];

/** Of each machine, its layouts by what is shown. */
export type Layouts = Readonly<Record<string, { made: string; layouts: Readonly<Record<string, Layout>> }>>;

/** A state to draw. */
export interface Box extends Rect {
  state: ChartState;
  lines: readonly string[];
  /** It is drawn with others in it. */
  frame: boolean;
  depth: number;
}

/** All arrows from one drawn state to another, drawn as one. */
export interface Line extends Group {
  points: Point[];
  label: Rect;
}

export interface Drawing {
  width: number;
  height: number;
  boxes: Box[];
  lines: Line[];
}

/** The name of a layout: what is closed, as it is drawn, and whether it has room for guards and actions. */
export const layoutName = ({ closed }: Outline, detailed: boolean): string =>
  `${closed.join(' ')}${detailed ? '+' : ''}`;

/**
 * Where everything of a chart stands, as it was worked out when the layouts were made. Null where there is none for
 * this chart: the page is of another version than its server.
 */
export function drawingOf(
  chart: Chart,
  shown: Shown,
  layouts: Readonly<Record<string, Layout>>,
): Drawing | null {
  const outline = outlineOf(chart, shown);
  const layout = layouts[layoutName(outline, shown.detailed)];
  if (!layout) return null;
  const [width, height, boxes, lines] = layout;
  if (boxes.length !== 4 * outline.states.length || lines.length !== outline.groups.length) return null;
  return {
    width,
    height,
    boxes: outline.states.map((state, i) => ({
      ...rectAt(boxes, 4 * i),
      state,
      lines: outline.lines.get(state.id) ?? [],
      frame: outline.frames.has(state.id),
      depth: state.id.split('.').length - 1,
    })),
    lines: outline.groups.map((group, i) => {
      const numbers = lines[i] as readonly number[];
      return { ...group, label: rectAt(numbers, 0), points: pointsFrom(numbers, 4) };
    }),
  };
}

const rectAt = (numbers: readonly number[], at: number): Rect => {
  const [x = 0, y = 0, width = 0, height = 0] = numbers.slice(at, at + 4);
  return { x, y, width, height };
};

function pointsFrom(numbers: readonly number[], at: number): Point[] {
  const points: Point[] = [];
  for (let i = at; i + 1 < numbers.length; i += 2)
    points.push({ x: numbers[i] as number, y: numbers[i + 1] as number });
  return points;
}

/** The most by which a corner is rounded. */
const RADIUS = 7;

/** An SVG path along these points, with its corners rounded. */
export function pathAlong(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first) return '';
  let path = `M${first.x} ${first.y}`;
  rest.forEach((corner, i) => {
    const next = rest[i + 1];
    if (!next) {
      path += `L${corner.x} ${corner.y}`;
      return;
    }
    const before = points[i] as Point;
    const [from, to] = [towards(corner, before), towards(corner, next)];
    path += `L${from.x} ${from.y}Q${corner.x} ${corner.y} ${to.x} ${to.y}`;
  });
  return path;
}

/** From a corner, half of the way to the next one but not further than the radius. */
function towards(corner: Point, other: Point): Point {
  const length = Math.hypot(other.x - corner.x, other.y - corner.y);
  const share = length === 0 ? 0 : Math.min(RADIUS, length / 2) / length;
  return { x: corner.x + share * (other.x - corner.x), y: corner.y + share * (other.y - corner.y) };
}
