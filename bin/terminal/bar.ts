import type { Aggregate } from '../../machines/schema/views.ts';
import type { Colours } from './output.ts';

const LEVELS = '▁▂▃▄▅▆▇█';

/** `████░░░░`. @param share 0 to 1 */
export function bar(share: number, width: number): string {
  const full = Math.round(Math.min(Math.max(Number.isFinite(share) ? share : 0, 0), 1) * width);
  return '█'.repeat(full) + '░'.repeat(width - full);
}

/**
 * A job's tasks by what became of them; what there is of each is never shown as nothing. Shapes tell it without
 * colours.
 */
export function taskBar(
  sum: Pick<Aggregate, 'num_tasks' | 'num_succeeded' | 'num_failed' | 'num_cancelled'>,
  width: number,
  colours: Colours,
): string {
  const share = (count: number) =>
    count === 0 ? 0 : Math.max(1, Math.round((count / sum.num_tasks) * width));
  const failed = share(sum.num_failed);
  const cancelled = Math.min(width - failed, share(sum.num_cancelled));
  const ended = sum.num_succeeded + sum.num_failed + sum.num_cancelled >= sum.num_tasks;
  const left = width - failed - cancelled;
  const succeeded = ended && sum.num_succeeded > 0 ? left : Math.min(left, share(sum.num_succeeded));
  return [
    colours.green('█'.repeat(succeeded)),
    colours.red('▓'.repeat(failed)),
    colours.dim('▒'.repeat(cancelled)),
    colours.dim('░'.repeat(left - succeeded)),
  ].join('');
}

/** One character a value, the largest one full; what is not nothing is never shown as nothing. */
export function sparkline(values: readonly number[]): string {
  const largest = Math.max(...values, 0);
  const level = (value: number) =>
    value <= 0 ? ' ' : LEVELS[Math.min(LEVELS.length - 1, Math.floor((value / largest) * LEVELS.length))];
  return values.map(level).join('');
}
