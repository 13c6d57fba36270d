import { type Standing, withTask } from '../ranking/standing.ts';
import type { TaskStatus } from '../schema/views.ts';
import type { TaskEmission } from '../task/types.ts';
import {
  afterFailure,
  afterReturn,
  afterSuccess,
  type Choice,
  decidable,
  decide,
  isSettled,
  type Selection,
  type TaskPlace,
} from './selection.ts';
import type { JobContext, JobEvent, TaskCounts } from './types.ts';

/* What the chart of a job counts and finds out: plain functions of its context. */

/** The states of a job in which a bulk command is being applied to its tasks. */
export const BULK_STATES: readonly string[] = ['requeuing', 'telling', 'reusing'];

/** Whether a bulk command is being applied to the tasks of a job: none of them may be leased. */
export const isBulkRunning = ({ state }: { state: string | null }): boolean =>
  state !== null && BULK_STATES.includes(state);

/**
 * What a job is told of an emission of one of its tasks, which was in `from`. A failure that is tried again moves
 * nothing.
 */
export function jobEventFor(
  emission: TaskEmission,
  { id, from, payload }: { id: string; from: TaskStatus; payload?: TaskPlace },
): JobEvent | null {
  const place = payload?.role === undefined ? {} : { place: payload };
  switch (emission.type) {
    case 'task_leased':
      return { type: 'TASK_LEASED', from };
    case 'task_started':
      return { type: 'TASK_STARTED', from };
    case 'task_completed':
    case 'task_reused':
      return {
        type: 'TASK_SUCCEEDED',
        from,
        task_id: id,
        ...place,
        rank_value: emission.rank_value,
        rank_others: emission.rank_others,
        model_artifact_id: emission.model_artifact_id,
      };
    case 'task_failed':
      return emission.requeued ? null : { type: 'TASK_FAILED', from, error: emission.error, ...place };
    case 'task_requeued':
      return { type: 'TASK_REQUEUED', from, ...place };
    case 'task_cancelled':
      return { type: 'TASK_CANCELLED', from, ...place };
    default:
      return null;
  }
}

/** What is told of a task that moved. */
type TaskMoved = Extract<JobEvent, { from: unknown }>;

/** The status that it has now. */
const ARRIVED_IN: Readonly<Record<TaskMoved['type'], keyof TaskCounts>> = {
  TASK_LEASED: 'leased',
  TASK_STARTED: 'running',
  TASK_REQUEUED: 'queued',
  TASK_SUCCEEDED: 'succeeded',
  TASK_FAILED: 'failed',
  TASK_CANCELLED: 'cancelled',
};

export function countMove(counts: TaskCounts, { type, from }: TaskMoved): TaskCounts {
  const moved = { ...counts };
  moved[from]--;
  moved[ARRIVED_IN[type]]++;
  return moved;
}

export const numEnded = ({ counts }: JobContext): number =>
  counts.succeeded + counts.failed + counts.cancelled;

/** Whether something follows from the end of its tasks. */
export const selects = ({ selection }: JobContext): boolean => selection !== null && !selection.expanding;

export const isOver = (context: JobContext): boolean =>
  context.selection !== null && isSettled(context.selection) && numEnded(context) === context.num_tasks;

export function withSuccess(
  standings: readonly Standing[],
  selection: Selection | null,
  event: Extract<JobEvent, { type: 'TASK_SUCCEEDED' }>,
): readonly Standing[] {
  if (event.place?.role === 'expansion') return standings;
  const task = { best_task_id: event.task_id, best_model_artifact_id: event.model_artifact_id };
  if (event.place?.role === 'refit') {
    // It stands in the place of the variant that it refits.
    const choice = selection?.datasets[event.place.dataset]?.choice;
    if (choice?.pipeline !== event.place.pipeline) return standings;
    const replaced = [choice.task_id, choice.refit_task_id];
    return standings.map((one) => (replaced.includes(one.best_task_id) ? { ...one, ...task } : one));
  }
  const values = [event.rank_value, ...event.rank_others];
  return standings.map((standing, place) => withTask(standing, values[place] ?? null, task));
}

/** The selection after what happened to one of the job's tasks. */
export function selectionAfter({ selection, standings }: JobContext, event: JobEvent): Selection | null {
  if (selection === null || !('place' in event) || event.place === undefined) return selection;
  switch (event.type) {
    case 'TASK_SUCCEEDED': {
      const values = [event.rank_value, ...event.rank_others];
      return afterSuccess(selection, event.place, { task_id: event.task_id, values }, standings);
    }
    case 'TASK_FAILED':
      return afterFailure(selection, event.place, 'failed');
    case 'TASK_CANCELLED':
      return afterFailure(selection, event.place, 'cancelled');
    case 'TASK_REQUEUED':
      return event.from === 'failed' ? afterReturn(selection, event.place) : selection;
    default:
      return selection;
  }
}

export interface Decision {
  selection: Selection;
  dataset: number;
  /** A choice, or why there is none. */
  made: Choice | string;
}

/** What comes of the dataset that is to be decided next; null where there is none. */
export function decisionOn({ selection, standings }: JobContext): Decision | null {
  const dataset = selection === null ? -1 : decidable(selection);
  if (selection === null || dataset < 0) return null;
  return { selection, dataset, made: decide(selection, dataset, standings) };
}

/** Why a job that selects has nothing to show. */
export function failureOf({ selection, error }: JobContext): string | null {
  const failed = selection?.datasets.find((of) => of.error !== null);
  if (!failed) return error ?? 'what refits the selected variant was cancelled';
  return failed.succeeded === 0 && error !== null ? `${failed.error}: ${error}` : failed.error;
}
