import type { ChartArrow } from '../../../../../machines/charts/graph.ts';
import type { MachineName } from '../../../../../machines/charts/names.ts';
import { PHASES } from '../../../../../machines/job/selection.ts';
import type { EventView } from '../../../../../machines/schema/views.ts';

/** The machines of which one actor can be looked at: their events reach the server's stream. */
export const CHOOSABLE = ['job', 'task', 'worker'] as const satisfies readonly MachineName[];
export type Choosable = (typeof CHOOSABLE)[number];

/** Between which states an actor has moved. */
export interface Way {
  /** Null where what came before has not been read. */
  from: string | null;
  to: string;
  /** What led there, or may have; absent where that is not known. */
  by?: readonly string[];
}

/** An event that moved an actor. */
export interface Move extends Way {
  event: EventView;
}

type Moved = Pick<EventView, 'type' | 'data'>;

/** Events that always lead to the same state. */
const LEADS_TO: Readonly<Record<Choosable, Readonly<Record<string, string>>>> = {
  job: {
    job_submitted: 'job.queued.ready',
    job_running: 'job.running.computing',
    job_succeeded: 'job.succeeded',
    job_failed: 'job.failed',
    job_cancelled: 'job.cancelled',
    job_retried: 'job.queued.requeuing',
  },
  task: {
    task_leased: 'task.leased',
    task_started: 'task.running.executing',
    task_completed: 'task.succeeded',
    task_reused: 'task.succeeded',
    task_lost: 'task.lost',
    task_requeued: 'task.queued',
    task_cancelled: 'task.cancelled',
  },
  worker: {
    worker_registered: 'worker.alive',
    worker_alive: 'worker.alive',
    worker_dead: 'worker.dead',
    worker_stopped: 'worker.dead',
    worker_drained: 'worker.alive.drained',
    worker_removed: 'worker.removed',
  },
};

/** Where an event leads an actor; null when it moves nothing. Data of others, so nothing in it is taken for granted. */
export function stateAfter(machine: Choosable, { type, data }: Moved): string | null {
  // A failure that is tried again is told twice; the queue it goes back to is the second.
  if (machine === 'task' && type === 'task_failed') return data.requeued === true ? null : 'task.failed';
  // Cancelling what has ended, or is being cancelled, changes nothing.
  if (machine === 'job' && type === 'job_cancel_requested') {
    return data.status === 'running' || data.status === 'queued' ? 'job.cancelling' : null;
  }
  // What a worker had that is gone was queued again: that moves nothing.
  if (type === 'worker_drained' && data.status === 'dead') return null;
  if (machine === 'job' && type === 'job_submitted' && data.reuse) return 'job.queued.reusing';
  // A job that selects goes through phases, which its events name.
  const phase = PHASES.find((name) => name === data.phase);
  if (machine === 'job' && phase) return `job.running.${phase}`;
  const leads = LEADS_TO[machine];
  return Object.hasOwn(leads, type) ? (leads[type] as string) : null;
}

/**
 * The path that events tell, oldest first. `complete`: the first of them is the actor's first, so a task began
 * as queued, of which no event tells.
 */
export function pathOf(machine: Choosable, events: readonly EventView[], complete: boolean): Move[] {
  let from = complete && machine === 'task' ? 'task.queued' : null;
  return events.flatMap((event) => {
    const to = stateAfter(machine, event);
    if (to === null) return [];
    const step = { event, from, to };
    from = to;
    return [step];
  });
}

/** Whether `id` is `other` or stands within it. */
export const within = (id: string, other: string): boolean => id === other || id.startsWith(`${other}.`);

/** What follows by itself from an event. */
const BY_ITSELF = 'always';

/** Whether the path went along an arrow between these states, which may be around or within those of the path. */
export function travelled(path: readonly Way[], arrow: Pick<ChartArrow, 'from' | 'to' | 'event'>): boolean {
  return path.some(({ from, to, by }) => {
    if (from === null || (by && !by.includes(arrow.event) && arrow.event !== BY_ITSELF)) return false;
    return within(from, arrow.from) && (within(to, arrow.to) || within(arrow.to, to));
  });
}
