import type { WorkerView } from '../schema/views.ts';

/**
 * How a worker is, in one word: one that is alive may ask for no tasks, or be given none since it was told to end
 * or an operator drains it (`draining` while it has some); one that has ended was not silent.
 */
export type Condition = 'alive' | 'suspended' | 'draining' | 'drained' | 'stopped' | 'dead';

/** Servers of earlier versions, and others, know only `alive` and `dead`. */
export function conditionOf({
  status,
  suspended,
  leaving,
  drained = null,
  slots_used,
}: Pick<WorkerView, 'status' | 'suspended' | 'leaving' | 'drained' | 'slots_used'>): Condition {
  if (status === 'dead') return leaving === 'stopped' ? 'stopped' : 'dead';
  if (leaving === 'draining') return 'draining';
  if (drained !== null) return slots_used > 0 ? 'draining' : 'drained';
  return typeof suspended === 'string' ? 'suspended' : 'alive';
}
