/** Quantiles of measured times; sorts a copy. */
export function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) throw new Error('no values were measured');
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * q;
  const low = sorted[Math.floor(at)] as number;
  const high = sorted[Math.ceil(at)] as number;
  return low + (high - low) * (at - Math.floor(at));
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);
