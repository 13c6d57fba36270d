import { RawJson } from '../machines/json/raw.ts';
import type { Aggregate, JobView, RankingEntry, TaskView, Waiting } from '../machines/schema/views.ts';
import type { JobRow, TaskRow } from './store/rows.ts';

/** What clients see of a job; in lists `ranking` and `errors` stay empty. */
export function jobView(row: JobRow, ranking: RankingEntry[], errors: Record<string, string>): JobView {
  return {
    id: row.id,
    type: row.type,
    name: row.name,
    status: row.status,
    priority: row.priority,
    created_at: row.created_at,
    updated_at: row.updated_at,
    owner: row.owner,
    error: row.error,
    warnings: row.warnings,
    submission: {
      mode: 'client_submitted',
      principal: row.owner,
      required_rights: ['submit'],
      granted_rights: [...row.granted_rights],
    },
    aggregate: aggregate(row, ranking, errors),
  };
}

function aggregate(row: JobRow, ranking: RankingEntry[], errors: Record<string, string>): Aggregate {
  return {
    num_tasks: row.num_tasks,
    num_queued: row.counts.queued + row.counts.leased,
    num_running: row.counts.running,
    num_succeeded: row.counts.succeeded,
    num_failed: row.counts.failed,
    num_cancelled: row.counts.cancelled,
    best_metric: row.best_metric,
    best_task_id: row.best_task_id,
    best_model_artifact_id: row.best_model_artifact_id,
    ranking,
    errors,
  };
}

/** The succeeded tasks, best first, those without the metric last (contract, "Jobs"). */
export function rankTasks(job: JobRow, tasks: readonly TaskRow[]): RankingEntry[] {
  const sign = job.rank_mode === 'min' ? 1 : -1;
  const ranked = [...tasks].sort((a, b) => {
    if (a.rank_value === null || b.rank_value === null) {
      return Number(a.rank_value === null) - Number(b.rank_value === null) || a.seq - b.seq;
    }
    return sign * (a.rank_value - b.rank_value) || a.seq - b.seq;
  });
  return ranked.map((task) => {
    const result = JSON.parse(task.result ?? '{}') as { metrics?: Record<string, unknown> };
    return {
      task_id: task.id,
      dataset: task.dataset_label,
      pipeline: task.pipeline_label,
      [job.rank_metric]: task.rank_value,
      metrics: result.metrics ?? {},
    };
  });
}

export function taskView(
  row: TaskRow,
  requirements: string,
  leaseExpiresAt: number | null,
  waiting: Waiting[],
): TaskView {
  const held = row.status === 'leased' || row.status === 'running';
  return {
    id: row.id,
    job_id: row.job_id,
    status: row.status,
    attempt: row.attempt,
    max_attempts: row.max_attempts,
    worker_id: row.worker_id,
    lease_expires_at: held ? (leaseExpiresAt ?? row.lease_expires_at) : null,
    requirements: new RawJson(requirements) as unknown as TaskView['requirements'],
    dataset_label: row.dataset_label,
    pipeline_label: row.pipeline_label,
    created_at: row.created_at,
    updated_at: row.updated_at,
    started_at: row.started_at,
    result: (row.result === null ? null : new RawJson(row.result)) as unknown as TaskView['result'],
    error: row.error,
    waiting_for: waiting,
  };
}
