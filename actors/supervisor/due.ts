import { type AnyAddress, TaskAddress, WorkerAddress } from './address.ts';
import type { Core, DeadlineKey } from './core.ts';

/**
 * The deadlines of these addresses are set as their facts say. The facts are the truth: what is set here only wakes
 * the supervisor, which then looks at them.
 * @param earliest second before which none comes due
 */
export function followDeadlines(
  { deadlines }: Core,
  addresses: Iterable<AnyAddress>,
  earliest = Number.NEGATIVE_INFINITY,
): void {
  const follow = (key: DeadlineKey, at: number | null) =>
    at === null ? deadlines.delete(key) : deadlines.set(key, Math.max(at, earliest));
  for (const address of addresses) {
    if (address instanceof TaskAddress) {
      follow(`lease:${address.id}`, address.facts.leaseEndsAt);
      follow(`timeout:${address.id}`, address.facts.timesOutAt);
    } else if (address instanceof WorkerAddress) {
      follow(`silence:${address.id}`, address.facts.silentAt);
      follow(`stale:${address.id}`, address.facts.doubtAt);
    }
  }
}

/** Wakes the supervisor when the first of those that wait is due; sooner does no harm. */
export function armBackoffs({ waits, backoffs }: Core): void {
  if (backoffs.next !== null) waits.set('backoff:', backoffs.next);
}

/** Wakes the supervisor when the first of a worker's missing paths is to be forgotten. */
export function armMissing({ waits }: Core, { id, missing }: WorkerAddress): void {
  if (missing.next !== null) waits.set(`missing:${id}`, missing.next);
}
