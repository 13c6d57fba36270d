/** A place in an order: compared number by number, a beginning of it comes first. */
export type Point = readonly number[];

/** From where to where, both included; null: without an end. */
export interface Range {
  readonly from: Point | null;
  readonly to: Point | null;
}

export const EVERYWHERE: Range = { from: null, to: null };

/** Negative, zero or positive, as `Array.sort` wants it. */
export function comparePoints(a: Point, b: Point): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a[i] as number;
    const right = b[i] as number;
    if (left !== right) return left < right ? -1 : 1;
  }
  return a.length - b.length;
}

/** What lies in both. */
export function narrowed(one: Range, other: Range): Range {
  return {
    from: further(one.from, other.from, 1),
    to: further(one.to, other.to, -1),
  };
}

function further(a: Point | null, b: Point | null, direction: 1 | -1): Point | null {
  if (a === null || b === null) return a ?? b;
  return comparePoints(a, b) * direction >= 0 ? a : b;
}
