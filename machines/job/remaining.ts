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
  const [from, to] = [Math.max(0, earliest - now), latest - now].map((seconds) =>
    written(Math.round(seconds)),
  );
  if (now >= ends_at) return `less than ${to} left`;
  const about = written(Math.round(ends_at - now));
  return from === to ? `about ${about} left` : `about ${about} left (${from} to ${to})`;
}
