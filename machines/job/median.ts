/**
 * The median of numbers that come one after the other, in a space that does not grow: exact for the first five, an
 * estimate from then on, by the P² algorithm (R. Jain and I. Chlamtac, Communications of the ACM 28, 1985).
 */
export interface RunningMedian {
  /** How many numbers there have been. */
  readonly n: number;
  /** The smallest, the quarter, the median, the three quarters and the largest; of fewer than five all, in order. */
  readonly heights: readonly number[];
  /** How many numbers are at or below the inner three. */
  readonly places: readonly number[];
}

const MARKERS = 5;
const EMPTY: RunningMedian = { n: 0, heights: [], places: [] };

/** Kept to the millisecond: it is stored with every end of a task. */
const short = (height: number): number => Math.round(height * 1000) / 1000;

export function withNumber(median: RunningMedian | undefined, value: number): RunningMedian {
  const { n, heights, places } = median ?? EMPTY;
  if (n < MARKERS) {
    const sorted = [...heights, short(value)].sort((a, b) => a - b);
    return { n: n + 1, heights: sorted, places: sorted.length < MARKERS ? [] : [2, 3, 4] };
  }
  const q = [...heights] as [number, number, number, number, number];
  q[0] = Math.min(q[0], value);
  q[4] = Math.max(q[4], value);
  const above = q.findIndex((height, i) => i > 0 && value < height);
  const p = [1, ...places.map((place, i) => (above > 0 && above <= i + 1 ? place + 1 : place)), n + 1];
  for (let i = 1; i < MARKERS - 1; i++) move(q, p, i, 1 + (n * i) / (MARKERS - 1));
  return { n: n + 1, heights: q.map(short), places: p.slice(1, -1) };
}

/** Moves a marker by one place towards the one that it should have, and its height with it. */
function move(q: number[], p: number[], i: number, wanted: number): void {
  const [left, here, right] = [p[i - 1], p[i], p[i + 1]] as [number, number, number];
  const [low, height, high] = [q[i - 1], q[i], q[i + 1]] as [number, number, number];
  const step = wanted - here >= 1 && right - here > 1 ? 1 : wanted - here <= -1 && left - here < -1 ? -1 : 0;
  if (step === 0) return;
  const rise = (high - height) / (right - here);
  const fall = (height - low) / (here - left);
  const curved =
    height + (step / (right - left)) * ((here - left + step) * rise + (right - here - step) * fall);
  q[i] = low < curved && curved < high ? curved : height + (step > 0 ? rise : -fall);
  p[i] = here + step;
}

/** Null where there has been no number. */
export function medianOf({ n, heights }: RunningMedian): number | null {
  if (n === 0) return null;
  const middle = (heights.length - 1) / 2;
  return ((heights[Math.floor(middle)] as number) + (heights[Math.ceil(middle)] as number)) / 2;
}
