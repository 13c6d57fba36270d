import { estimateOf } from '../../../machines/job/run-times.ts';
import { phaseOf } from '../../../machines/job/selection.ts';
import type { Aggregate, JobView, RankingEntry, SelectionView } from '../../../machines/schema/views.ts';
import type { JobRow } from '../store/rows.ts';

/** What clients see of a job; in lists `ranking` and `errors` stay empty, and `selections` are left out. */
export function jobView(row: JobRow, ranking: RankingEntry[], errors: Record<string, string>): JobView {
  return {
    id: row.id,
    type: row.type,
    name: row.name,
    note: row.note,
    tags: [...row.tags],
    status: row.status,
    phase: row.selection && row.status === 'running' ? phaseOf(row.selection) : null,
    estimate: estimateOf(row),
    priority: row.priority,
    keep: row.keep,
    resubmitted_from: row.resubmitted_from,
    created_at: row.created_at,
    updated_at: row.updated_at,
    owner: row.owner,
    error: row.error,
    warnings: [...row.warnings],
    submission: submissionOf(row),
    scheduler: schedulerOf(row),
    aggregate: aggregateOf(row, ranking, errors),
  };
}

/** Who submitted a job, and by which rights; attested by the server (docs/protocol.md#views-of-jobs-and-tasks). */
export const submissionOf = (row: JobRow): JobView['submission'] => ({
  mode: 'client_submitted',
  principal: row.owner,
  required_rights: ['submit'],
  granted_rights: [...row.granted_rights],
});

/** How the server deals a job out (docs/protocol.md#views-of-jobs-and-tasks). */
export const schedulerOf = ({ type, num_tasks, is_dag }: JobRow): JobView['scheduler'] => ({
  shape: is_dag ? 'dag_shaped_whole_run' : num_tasks > 1 ? 'pipeline_dataset_matrix' : 'atomic',
  task_granularity: `whole_${type.replace('.', '_')}`,
  assignment_mode: 'server_leased_executor',
  result_provenance: 'server_attested_worker_report',
  submit_rights_required: ['submit'],
  execute_rights_required: ['execute'],
});

export function aggregateOf(row: JobRow, ranking: RankingEntry[], errors: Record<string, string>): Aggregate {
  return {
    num_tasks: row.num_tasks,
    num_queued: row.counts.queued + row.counts.leased,
    num_running: row.counts.running,
    num_succeeded: row.counts.succeeded,
    num_failed: row.counts.failed,
    num_cancelled: row.counts.cancelled,
    num_reused: row.num_reused,
    rank_metric: row.rank_metric,
    best_metric: row.best_metric,
    best_task_id: row.best_task_id,
    best_model_artifact_id: row.best_model_artifact_id,
    ranking,
    errors,
  };
}

/** How a job that selects stands on each of its datasets. */
export const selectionsOf = ({ selection }: JobRow): SelectionView[] =>
  (selection?.datasets ?? []).map(({ dataset, left, choice, decided, error }) => {
    // What was selected before a variant was tried again is open anew.
    const chosen = decided ? choice : null;
    const refit = chosen?.refit ?? null;
    return {
      dataset,
      num_left: left,
      task_id: chosen?.task_id ?? null,
      metric: chosen?.metric ?? null,
      value: chosen?.value ?? null,
      refit: refit === 'wanted' || refit === 'open' ? 'queued' : refit,
      refit_task_id: chosen?.refit_task_id ?? null,
      error,
    };
  });
