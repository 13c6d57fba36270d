import type { Clock } from '../../shared/clock.ts';
import type { WorkerRow } from '../store/rows.ts';

type Declared = Pick<WorkerRow, 'version' | 'capabilities'>;

/** A registration is known by its `version` object. */
const ends = new WeakMap<WorkerRow['version'], number>();

/**
 * Until when a worker can run tasks, by its own word (`capabilities.ends_at`): a second of the monotonic clock, so that
 * no jump of the wall clock afterwards moves it. Infinity where it did not say.
 */
function endOf({ version, capabilities }: Declared, clock: Clock): number {
  const { ends_at } = capabilities;
  if (typeof ends_at !== 'number') return Number.POSITIVE_INFINITY;
  const known = ends.get(version);
  if (known !== undefined) return known;
  const end = clock.monotonic() + ends_at - clock.now();
  ends.set(version, end);
  return end;
}

/** Whether a worker said until when it can run tasks. */
export const isEnding = (worker: Declared, clock: Clock): boolean =>
  endOf(worker, clock) < Number.POSITIVE_INFINITY;

/**
 * Whether a worker has the time for a task.
 * @param seconds that it is expected to take; null: nobody knows, and it is tried as long as there is any time
 */
export function hasTimeFor(worker: Declared, seconds: number | null, clock: Clock): boolean {
  const left = endOf(worker, clock) - clock.monotonic();
  return left > 0 && (seconds ?? 0) <= left;
}
