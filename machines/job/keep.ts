import { secondsIn } from '../protocol/duration.ts';
import { hasEnded } from '../schema/statuses.ts';
import type { JobView } from '../schema/views.ts';

/** What is said of a job that is never deleted. */
export const FOREVER = 'forever';

/**
 * How long a job is kept after its end by its owner's wish, in seconds; null where it is kept for ever, and where there
 * is no wish.
 */
export const keepSeconds = (keep: string | null): number | null =>
  keep === null || keep === FOREVER ? null : secondsIn(keep);

/** Whether somebody may wish that. */
export const isKeep = (keep: string): boolean => keep === FOREVER || secondsIn(keep) !== null;

/**
 * How long a job is kept by its owner's wish, for people; null where there is no wish.
 * @param date a moment in words, of seconds since the epoch
 */
export function keptWords(
  { keep = null, status, updated_at }: Pick<JobView, 'keep' | 'status' | 'updated_at'>,
  date: (at: number) => string,
): string | null {
  if (keep === null) return null;
  if (keep === FOREVER) return 'for ever';
  const seconds = keepSeconds(keep);
  return seconds !== null && hasEnded(status)
    ? `until ${date(updated_at + seconds)}`
    : `for ${keep} after its end`;
}
