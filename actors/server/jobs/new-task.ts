import type { TaskPlace } from '../../../machines/job/selection.ts';
import type { JobCell } from '../runtime/actor-cell.ts';
import type { JobRow, TaskRow } from '../store/rows.ts';
import type { Turn } from '../turn/turn.ts';

/** What tells a task from the others of its job. */
export type Own = Pick<
  TaskRow,
  | 'seq'
  | 'backoff_seconds'
  | 'timeout_seconds'
  | 'requirement_id'
  | 'pipeline_label'
  | 'pipeline_steps'
  | 'dataset_label'
  | 'content_key'
> & { payload: TaskPlace };

/**
 * A task that nobody has tried yet. Each member is named: V8 keeps an object that begins with the members of another
 * one as a dictionary, which costs a task tens of microseconds here, and more with every copy of its row.
 */
export function newTask(turn: Turn, job: JobRow, own: Own, created_at: number): TaskRow {
  return {
    seq: own.seq,
    id: turn.makeId('task'),
    job_id: job.id,
    status: 'queued',
    state: null,
    priority: job.priority,
    attempt: 0,
    max_attempts: job.retry_attempts,
    backoff_seconds: own.backoff_seconds,
    not_before: null,
    worker_faults: 0,
    take_backs: 0,
    avoids: [],
    worker_id: null,
    lease_expires_at: null,
    requirement_id: own.requirement_id,
    payload: own.payload,
    pipeline_label: own.pipeline_label,
    pipeline_steps: own.pipeline_steps,
    dataset_label: own.dataset_label,
    timeout_seconds: own.timeout_seconds,
    created_at,
    updated_at: created_at,
    started_at: null,
    result: null,
    rank_value: null,
    rank_others: [],
    model_artifact_id: null,
    error: null,
    last_report: null,
    content_key: own.content_key,
    reused_from: null,
  };
}

/**
 * The number of the next task of a job that selects: one of those that are kept for it, so that it has its job's place.
 */
export function nextNumber(turn: Turn, job: JobCell): number {
  const { next_seq, last_seq } = job.row;
  if (next_seq === null || last_seq === null || next_seq > last_seq) return turn.core.sequences.task++;
  job.amend(turn, { next_seq: next_seq + 1 });
  return next_seq;
}
