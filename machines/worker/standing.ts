import type { WorkerView } from '../schema/views.ts';

/** How a worker stands, in one word: one that is alive may ask for no tasks, and one that has ended was not silent. */
export type Standing = 'alive' | 'suspended' | 'draining' | 'stopped' | 'dead';

/** Servers of earlier versions, and others, know only `alive` and `dead`. */
export function standingOf({
  status,
  suspended,
  leaving,
}: Pick<WorkerView, 'status' | 'suspended' | 'leaving'>): Standing {
  if (status === 'dead') return leaving === 'stopped' ? 'stopped' : 'dead';
  if (leaving === 'draining') return 'draining';
  return typeof suspended === 'string' ? 'suspended' : 'alive';
}
