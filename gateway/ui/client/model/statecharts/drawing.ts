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
 * (x, y, width, height), and for each group of arrows its line and its label, as `packedLine` writes them.
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
      return { ...group, ...unpackedLine(lines[i] as readonly number[]) };
    }),
  };
}

const rectAt = (numbers: readonly number[], at: number): Rect => {
  const [x = 0, y = 0, width = 0, height = 0] = numbers.slice(at, at + 4);
  return { x, y, width, height };
};

/**
 * A line that goes up, down and sideways, in few numbers and small ones, of which a page takes less: where its label is
 * from its first point, the size of that, the first point, and by how much it goes down and to the right in turn.
 */
export function packedLine({ points, label }: Pick<Line, 'points' | 'label'>): number[] {
  const { x, y } = points[0] as Point;
  const moves: number[] = [];
  let at = { x, y };
  for (const point of points.slice(1)) {
    const [down, right] = [point.y - at.y, point.x - at.x];
    if (down !== 0 && right !== 0) throw new Error('a line goes askew');
    const isTurn = (moves.length % 2 === 0) === (down !== 0);
    if (!isTurn) moves.push(0);
    moves.push(down === 0 ? right : down);
    at = point;
  }
  return [label.x - x, label.y - y, label.width, label.height, x, y, ...moves];
}

function unpackedLine(numbers: readonly number[]): Pick<Line, 'points' | 'label'> {
  const [dx = 0, dy = 0, width = 0, height = 0, x = 0, y = 0, ...moves] = numbers;
  const points: Point[] = [{ x, y }];
  let at = { x, y };
  for (const [i, move] of moves.entries()) {
    at = i % 2 === 0 ? { x: at.x, y: at.y + move } : { x: at.x + move, y: at.y };
    if (move !== 0) points.push(at);
  }
  return { points, label: { x: x + dx, y: y + dy, width, height } };
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
