import type { Standing } from '../ranking/standing.ts';
import type { TaskStatus } from '../schema/views.ts';
import type { RankValues } from '../task/types.ts';
import type { Choice, Selection, TaskPlace } from './selection.ts';

/** How many of the job's tasks are in each state; kept by the job itself, never recounted. */
export type TaskCounts = Record<TaskStatus, number>;

export interface JobContext {
  id: string;
  num_tasks: number;
  counts: TaskCounts;
  /** By each of the metrics that the job may rank by, as they are listed. */
  standings: readonly Standing[];
  /** How many of the succeeded tasks have the result of another one. */
  num_reused: number;
  /** Of a job that selects the best of its variants. */
  selection: Selection | null;
  error: string | null;
}

/** Events of a job: what a person asked for, and what its tasks emit. */
export type JobEvent =
  | { type: 'CANCEL' }
  | { type: 'RETRY' }
  /** Each of its tasks has been told what the person asked for. */
  | { type: 'BULK_DONE' }
  /** Each of those that follow says which status the task has left. */
  | { type: 'TASK_LEASED'; from: TaskStatus }
  | { type: 'TASK_STARTED'; from: TaskStatus }
  | { type: 'TASK_REQUEUED'; from: TaskStatus; place?: TaskPlace }
  /** One that was still queued has the result of another one. */
  | ({
      type: 'TASK_SUCCEEDED';
      from: TaskStatus;
      task_id: string;
      /** In a job that selects. */
      place?: TaskPlace;
      model_artifact_id: string | null;
    } & RankValues)
  | { type: 'TASK_FAILED'; from: TaskStatus; error: string; place?: TaskPlace }
  | { type: 'TASK_CANCELLED'; from: TaskStatus; place?: TaskPlace }
  /** So many variants on each dataset, which the library found, have been queued; perhaps some are known already. */
  | { type: 'VARIANTS_ADDED'; variants: number; reuse: boolean }
  /** The task that refits what was selected on a dataset has been queued. */
  | { type: 'REFIT_ADDED'; dataset: number; task_id: string };

export type JobEmission =
  | { type: 'job_running' }
  | { type: 'job_succeeded' }
  | { type: 'job_failed'; error: string }
  | { type: 'job_cancelled' }
  | { type: 'job_retried' }
  | { type: 'variants_found'; variants: number }
  | { type: 'variant_selected'; dataset: number; choice: Choice }
  | { type: 'selection_failed'; dataset: number; error: string }
  | { type: 'refit_queued'; dataset: number; task_id: string };
