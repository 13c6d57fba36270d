import type { Core, DeadlineKey } from '../core.ts';
import { type AnyCell, TaskCell, WorkerCell } from './actor-cell.ts';

/**
 * The deadlines of these cells are set as their soft state says, before it is settled. That is the truth: what is set
 * here only wakes the supervisor, which then looks at them.
 * @param delay seconds before which none comes due
 */
export function followDeadlines(
  { deadlines, waits, hearing, clock }: Pick<Core, 'deadlines' | 'waits' | 'hearing' | 'clock'>,
  cells: Iterable<AnyCell>,
  delay: number | null = null,
): void {
  const earliest = (now: number) => (delay === null ? Number.NEGATIVE_INFINITY : now + delay);
  const [heard, passed] = [earliest(hearing.monotonic()), earliest(clock.monotonic())];
  const follow = (
    kind: 'lease' | 'timeout' | 'silence' | 'stale',
    id: string,
    at: number | null,
    before: number | null,
  ) => {
    if (at !== null) deadlines.set(`${kind}:${id}`, Math.max(at, heard));
    else if (before !== null) deadlines.delete(`${kind}:${id}`);
  };
  for (const cell of cells) {
    const { id } = cell;
    if (cell instanceof TaskCell) {
      const { soft, settledSoft: before } = cell;
      follow('lease', id, soft.leaseEndsAt, before.leaseEndsAt);
      follow('timeout', id, soft.timesOutAt, before.timesOutAt);
    } else if (cell instanceof WorkerCell) {
      const { soft, settledSoft: before } = cell;
      follow('silence', id, soft.deadAt, before.deadAt);
      follow('stale', id, soft.staleAt, before.staleAt);
      const { takesBackAt } = soft;
      if (takesBackAt !== null) waits.set(`drain:${id}`, Math.max(takesBackAt, passed));
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
