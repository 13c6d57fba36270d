/** A flat line at zero should look like one. */
const LEAST_TOP = 4;
/** How many times higher than all below them values are that count as spikes. */
const STEEP = 4;
/** The share of the values that may be spikes; what is often so high is none. */
const SELDOM = 0.1;
/** Room above the highest that is drawn: a little, and more where spikes have to be seen to go on. */
const ROOM = { plain: 1.1, capped: 1.5 };

/** The axis of a chart. */
export interface Scale {
  top: number;
  /** Some values are above it; they are drawn up to the edge, and marked. */
  capped: boolean;
}

/** The axis for values of which each may last. */
export function wholeScale(values: readonly number[]): Scale {
  return { top: Math.max(LEAST_TOP, Math.max(0, ...values) * ROOM.plain), capped: false };
}

/** The axis for values of which a few may be so high that all others would lie flat on the ground. */
export function cappedScale(values: readonly number[]): Scale {
  const sorted = values.filter((value) => value > 0).sort((a, b) => b - a);
  const highest = sorted[0] ?? 0;
  const usual = highestButSpikes(sorted, Math.floor(values.length * SELDOM));
  const top = Math.max(LEAST_TOP, usual * ROOM.capped);
  if (usual < highest && top < highest) return { top, capped: true };
  return wholeScale(sorted);
}

/** Below the steepest step among the highest values; the highest itself where none is steep. */
function highestButSpikes(sorted: readonly number[], most: number): number {
  let found = sorted[0] ?? 0;
  let steepest = STEEP;
  for (let n = 1; n <= Math.min(most, sorted.length - 1); n++) {
    const [above, below] = [sorted[n - 1] as number, sorted[n] as number];
    if (above / below < steepest) continue;
    steepest = above / below;
    found = below;
  }
  return found;
}

/** Where a line goes through the top: of a run of such points the highest, which stands for all of them. */
export function peaksAbove(values: readonly number[], top: number): number[] {
  const peaks: number[] = [];
  for (const [i, value] of values.entries()) {
    if (value <= top) continue;
    const last = peaks.at(-1);
    if (last === undefined || (i > 0 && (values[i - 1] as number) <= top)) peaks.push(i);
    else if (value > (values[last] as number)) peaks[peaks.length - 1] = i;
  }
  return peaks;
}
