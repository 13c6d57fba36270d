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

const holds = ({ x, y, width, height }: Rect, point: Point): boolean =>
  point.x >= x && point.x <= x + width && point.y >= y && point.y <= y + height;

/** Where the way from a point within to one outside leaves. */
function exit(rect: Rect, inner: Point, outer: Point): Point {
  const dx = outer.x - inner.x;
  const dy = outer.y - inner.y;
  const shares = [
    dx === 0 ? Infinity : ((dx > 0 ? rect.x + rect.width : rect.x) - inner.x) / dx,
    dy === 0 ? Infinity : ((dy > 0 ? rect.y + rect.height : rect.y) - inner.y) / dy,
  ];
  const share = Math.min(1, ...shares);
  return { x: inner.x + share * dx, y: inner.y + share * dy };
}

/** The part of a way before it first enters `rect`, in which it ends. */
function untilEntry(points: readonly Point[], rect: Rect): Point[] {
  let last = points.length - 1;
  while (last > 0 && holds(rect, points[last - 1] as Point)) last--;
  if (last === 0) return [...points];
  return [...points.slice(0, last), exit(rect, points[last] as Point, points[last - 1] as Point)];
}

/** A way between what lies in two rectangles, cut where it leaves the first and where it reaches the second. */
export function clipped(points: readonly Point[], from: Rect | null, to: Rect): Point[] {
  const begun = from === null ? points : untilEntry([...points].reverse(), from).reverse();
  return untilEntry(begun, to);
}

const at = ({ x, y }: Point): string => `${x.toFixed(1)} ${y.toFixed(1)}`;
const middle = (a: Point, b: Point): Point => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });

/** An SVG path that begins and ends straight and rounds its corners. */
export function smooth(points: readonly Point[]): string {
  const [first, second, ...rest] = points;
  if (!first || !second) return '';
  let path = `M${at(first)}L${at(middle(first, second))}`;
  let corner = second;
  for (const next of rest) {
    path += `Q${at(corner)} ${at(middle(corner, next))}`;
    corner = next;
  }
  return `${path}L${at(corner)}`;
}
