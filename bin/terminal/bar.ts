const LEVELS = '▁▂▃▄▅▆▇█';

/** `████░░░░`. @param share 0 to 1 */
export function bar(share: number, width: number): string {
  const full = Math.round(Math.min(Math.max(Number.isFinite(share) ? share : 0, 0), 1) * width);
  return '█'.repeat(full) + '░'.repeat(width - full);
}

/** One character a value, the largest one full; what is not nothing is never shown as nothing. */
export function sparkline(values: readonly number[]): string {
  const largest = Math.max(...values, 0);
  const level = (value: number) =>
    value <= 0 ? ' ' : LEVELS[Math.min(LEVELS.length - 1, Math.floor((value / largest) * LEVELS.length))];
  return values.map(level).join('');
}
