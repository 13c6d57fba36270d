/** The numbers that a plot's axis goes from and to, and where it is marked. */
export interface Axis {
  from: number;
  to: number;
  ticks: readonly number[];
}

/** Room on both sides, as a share of the range. */
const ROOM = 0.04;

/** An axis for these values, with about so many marks at round numbers. */
export function axisFor(values: readonly number[], about = 6): Axis {
  let low = Number.POSITIVE_INFINITY;
  let high = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (!(low <= high)) return { from: 0, to: 1, ticks: [0, 1] };
  const span = high - low || Math.abs(high) || 1;
  const [from, to] = [low - span * ROOM, high + span * ROOM];
  const step = roundStep((to - from) / about);
  const first = Math.ceil(from / step);
  const ticks = Array.from({ length: Math.floor(to / step) - first + 1 }, (_, i) =>
    // Without what the multiplication leaves behind the last digit.
    Number(((first + i) * step).toPrecision(12)),
  );
  return { from, to, ticks };
}

/** The next larger of 1, 2 and 5 times a power of ten. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5].find((one) => one * power >= least * (1 - 1e-9)) ?? 10;
  return factor * power;
}
