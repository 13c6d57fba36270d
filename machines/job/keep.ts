import { secondsIn } from '../protocol/duration.ts';

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
