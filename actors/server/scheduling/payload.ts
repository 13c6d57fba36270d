import type { LeasedTask, TaskPayload } from '../../../gateway/messages.ts';
import { compose, RawJson, withMember } from '../../../machines/json/raw.ts';
import type { Principal } from '../../../machines/protocol/rights.ts';
import { isPrediction } from '../../../machines/schema/job-types.ts';
import { MAX_VARIANTS } from '../../../machines/schema/select-limits.ts';
import type { JobPieces } from '../jobs/job-pieces.ts';
import { schedulerOf, submissionOf } from '../reads/views.ts';
import type { JobRow, TaskRow } from '../store/rows.ts';

function paramsFor({ payload: { role } }: TaskRow, pieces: JobPieces): string {
  if (role === 'variant') return pieces.exploring;
  return role === 'refit' ? pieces.refitting : pieces.params;
}

/** What a worker gets with a lease; pipeline, dataset and params are the text that the client wrote. */
export function leasedTask(parts: {
  job: JobRow;
  task: TaskRow;
  pieces: JobPieces;
  requirements: string;
  principal: Principal;
}): LeasedTask {
  const { job, task, pieces, requirements, principal } = parts;
  const source = new RawJson(pieces.pipelines[task.payload.pipeline] ?? 'null');
  const payload: Record<keyof TaskPayload, unknown> = {
    task_id: task.id,
    job_id: job.id,
    type: job.type,
    attempt: task.attempt,
    max_attempts: task.max_attempts,
    pipeline: isPrediction(job.type) ? undefined : source,
    model: isPrediction(job.type) ? source : undefined,
    dataset: new RawJson(pieces.datasets[task.payload.dataset] ?? 'null'),
    params: new RawJson(paramsFor(task, pieces)),
    // Nothing is fitted that could be exported.
    outputs: new RawJson(
      task.payload.role === 'variant'
        ? withMember(pieces.outputs, 'export_best_model', false)
        : pieces.outputs,
    ),
    requirements: new RawJson(requirements),
    timeout_seconds: task.timeout_seconds,
    // One name, as workers know it: which of several counts is decided when all have reported.
    rank_metric: job.standings[0]?.metric ?? job.rank_metric,
    lease_expires_at: task.lease_expires_at,
    scheduler: new RawJson(JSON.stringify(schedulerOf(job))),
    submission: new RawJson(JSON.stringify(submissionOf(job))),
    nativePayload: new RawJson(pieces.native),
    expand: task.payload.role === 'expansion' ? { at_most: MAX_VARIANTS } : undefined,
    assignment: new RawJson(
      JSON.stringify({
        mode: 'server_leased_executor',
        assigned_by: 'server',
        executor_principal: principal.name,
        worker_id: task.worker_id,
        required_rights: ['execute'],
        granted_rights: principal.rights,
      }),
    ),
  };
  return { task_id: task.id, attempt: task.attempt, payload: new RawJson(compose(payload)) };
}
