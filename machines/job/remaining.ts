import type { Estimate } from './run-times.ts';

/**
 * How long a job will still take, for people: `about 12 min left (9 min to 17 min)`.
 * @param now seconds since the epoch, by the clock of the server as far as it is known
 * @param written a length of time in words; of seconds
 */
export function remainingWords(
  { ends_at, earliest, latest }: Estimate,
  now: number,
  written: (seconds: number) => string,
): string {
  if (now >= latest) return 'takes longer than expected';
  const to = Math.max(1, Math.round(latest - now));
  if (now >= ends_at) return `less than ${written(to)} left`;
  const about = `about ${written(Math.max(1, Math.round(ends_at - now)))} left`;
  const from = Math.max(0, Math.round(earliest - now));
  return to - from <= 1 ? about : `${about} (${written(from)} to ${written(to)})`;
}
