import type { TaskView, Waiting } from '../../../../machines/schema/views.ts';
import { counted } from './format.ts';

/** Why queued tasks wait, and how many of them for the same. */
export interface WaitingGroup {
  /** Tells groups apart. */
  key: string;
  reasons: readonly Waiting[];
  tasks: number;
}

const keyOf = ({ waiting_for }: TaskView): string => JSON.stringify(waiting_for);

/**
 * What several queued tasks wait for, the most common first, so that it is said once; and which tasks have a reason
 * of their own, that is said beside them.
 */
export function waitingGroups(tasks: readonly TaskView[]): {
  shared: readonly WaitingGroup[];
  alone: ReadonlySet<string>;
} {
  const groups = Map.groupBy(
    tasks.filter(({ status }) => status === 'queued'),
    keyOf,
  );
  const all = [...groups].map(([key, members]) => ({ key, members }));
  const shared = all
    .filter(({ members }) => members.length > 1)
    .sort((a, b) => b.members.length - a.members.length)
    .map(({ key, members }) => ({ key, reasons: members[0]?.waiting_for ?? [], tasks: members.length }));
  const alone = all.flatMap(({ members }) => (members.length === 1 ? members.map(({ id }) => id) : []));
  return { shared, alone: new Set(alone) };
}

/** What keeps workers from a task beside what it requires; undefined for a requirement. */
export function reasonInWords(reason: string, workers: number): string | undefined {
  const live = counted(workers, 'live worker');
  if (reason === 'slots') return `All slots of ${counted(workers, 'matching worker')} are taken.`;
  if (reason === 'backoff') return 'Failed, and is tried again later.';
  if (reason === 'worker_fault') return `Avoids ${live} after a fault of its own.`;
  if (reason === 'ends_too_early')
    return `${counted(workers, 'matching worker')} with too little time left for it.`;
  if (reason === 'suspended') return `${counted(workers, 'matching worker')} asking for no tasks at present.`;
  if (reason === 'draining') return `${counted(workers, 'matching worker')} about to end.`;
  const paused = /^paused(?:\.(type|owner)=(.*))?$/s.exec(reason);
  if (paused) return `${paused[1] === undefined ? 'The queue' : `The ${paused[1]} ${paused[2]}`} is paused.`;
  if (reason === 'owner_limit') return 'Its owner has as many tasks under way as allowed.';
  if (reason === 'drained') return `${counted(workers, 'matching worker')} drained by an operator.`;
  return undefined;
}
