import type { Core, DeadlineKey } from '../core.ts';
import { type AnyCell, TaskCell, WorkerCell } from './actor-cell.ts';

/**
 * The deadlines of these cells are set as their soft state says. That is the truth: what is set here only wakes
 * the supervisor, which then looks at them.
 * @param delay seconds before which none comes due
 */
export function followDeadlines(
  { deadlines, waits, hearing, clock }: Pick<Core, 'deadlines' | 'waits' | 'hearing' | 'clock'>,
  cells: Iterable<AnyCell>,
  delay: number | null = null,
): void {
  const earliest = (now: number) => (delay === null ? Number.NEGATIVE_INFINITY : now + delay);
  const [heard, passed] = [earliest(hearing.monotonic()), earliest(clock.monotonic())];
  const follow = (key: DeadlineKey, at: number | null) =>
    at === null ? deadlines.delete(key) : deadlines.set(key, Math.max(at, heard));
  for (const cell of cells) {
    if (cell instanceof TaskCell) {
      follow(`lease:${cell.id}`, cell.soft.leaseEndsAt);
      follow(`timeout:${cell.id}`, cell.soft.timesOutAt);
    } else if (cell instanceof WorkerCell) {
      follow(`silence:${cell.id}`, cell.soft.deadAt);
      follow(`stale:${cell.id}`, cell.soft.staleAt);
      const { takesBackAt } = cell.soft;
      if (takesBackAt !== null) waits.set(`drain:${cell.id}`, Math.max(takesBackAt, passed));
    }
  }
}

/** What came due in a turn that failed comes back a moment later: the store is not likely to work at once. */
export function comeBackLater(
  { deadlines, hearing, settings }: Pick<Core, 'deadlines' | 'hearing' | 'settings'>,
  key: DeadlineKey,
): void {
  deadlines.set(key, hearing.monotonic() + settings.probeInterval);
}

/** Wakes the supervisor when the first of those that wait is due; sooner does no harm. */
export function armBackoffs({ waits, queue: { backoffs } }: Pick<Core, 'waits' | 'queue'>): void {
  if (backoffs.next !== null) waits.set('backoff:', backoffs.next);
}

/** Wakes the supervisor when the first of a worker's missing paths is to be forgotten. */
export function armMissing({ waits }: Pick<Core, 'waits'>, { id, missingPaths }: WorkerCell): void {
  if (missingPaths.next !== null) waits.set(`missing:${id}`, missingPaths.next);
}
