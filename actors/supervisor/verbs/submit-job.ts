import type { MessageOf } from '../../../gateway/messages.ts';
import { decompose, settingsOf } from '../../../machines/decompose.ts';
import { ClusterError } from '../../../machines/errors.ts';
import type { JobSpec } from '../../../machines/schema/job.ts';
import type { Fault } from '../../../machines/schema/validate.ts';
import { datasetsOf, pipelinesOf } from '../../../machines/submission.ts';
import type { JobRow, TaskRow } from '../../store/rows.ts';
import { jobView } from '../../views.ts';
import type { Turn } from '../turn.ts';
import { After, type Fetched, keyOf, type Verb } from '../verb.ts';

type Submit = MessageOf<'submit_job'>;

/** Persists a job with all its tasks; the same idempotency key with the same body gives the same job. */
export const submitJob: Verb<'submit_job'> = {
  needs: ({ spec, principal }) => ({
    artifacts: artifactRefs(spec).map((ref) => ref.id),
    ...(spec.idempotency_key === undefined
      ? {}
      : { key: { owner: principal.name, key: spec.idempotency_key } }),
  }),
  run(message, { turn, fetched }) {
    const earlier = submittedBefore(message, turn, fetched);
    if (earlier !== null) return new After(() => turn.core.views.job(earlier));
    assertArtifacts(message.spec, fetched);
    const job = turn.addJob(newJob(message, turn), message.text);
    const count = addTasks(job.row, message.spec, turn);
    turn.event(
      { job_id: job.id },
      {
        level: 'info',
        type: 'job_submitted',
        message: `job ${job.row.name ? `${job.row.name} ` : ''}submitted with ${count} task(s)`,
        data: { num_tasks: count, owner: job.row.owner, priority: job.row.priority },
      },
    );
    if (job.row.idempotency_key !== null) {
      const key = keyOf(job.row.owner, job.row.idempotency_key);
      turn.keepKey(key, { job_id: job.id, request: message.text });
    }
    return jobView(job.row, [], {});
  },
};

/** @throws ClusterError `idempotency_conflict` */
function submittedBefore({ spec, principal, text }: Submit, turn: Turn, fetched: Fetched): string | null {
  if (spec.idempotency_key === undefined) return null;
  const key = keyOf(principal.name, spec.idempotency_key);
  const found = turn.jobUnder(key) ?? fetched.keys.get(key);
  if (!found) return null;
  if (found.request === text) return found.job_id;
  throw new ClusterError(
    'idempotency_conflict',
    `idempotency key '${spec.idempotency_key}' was used for job ${found.job_id} with another body; use a new key`,
  );
}

function newJob({ spec, principal, warnings }: Submit, turn: Turn): JobRow {
  const settings = settingsOf(spec);
  const num_tasks = pipelinesOf(spec).length * datasetsOf(spec).length;
  const created_at = turn.createdAt();
  return {
    seq: turn.core.sequences.job++,
    id: turn.core.makeId('job'),
    type: spec.type,
    name: spec.name ?? null,
    status: 'queued',
    priority: settings.priority,
    created_at,
    updated_at: created_at,
    owner: principal.name,
    granted_rights: principal.rights,
    warnings,
    error: null,
    idempotency_key: spec.idempotency_key ?? null,
    rank_metric: settings.rank_metric,
    rank_mode: settings.rank_mode,
    retry_attempts: settings.max_attempts,
    pins_fingerprint: pipelinesOf(spec).some(
      (p) => p.kind === 'inline_json' && p.expected_fingerprint !== undefined,
    ),
    num_tasks,
    counts: { queued: num_tasks, leased: 0, running: 0, lost: 0, succeeded: 0, failed: 0, cancelled: 0 },
    best_metric: null,
    best_task_id: null,
    best_model_artifact_id: null,
  };
}

function addTasks(job: JobRow, spec: JobSpec, turn: Turn): number {
  const plans = decompose(spec);
  const settings = settingsOf(spec);
  for (const plan of plans) {
    const { id: requirement_id, fresh } = turn.core.requirements.number(plan.requirements);
    if (fresh) turn.requirement(fresh);
    const row: TaskRow = {
      seq: turn.core.sequences.task++,
      id: turn.core.makeId('task'),
      job_id: job.id,
      status: 'queued',
      state: null,
      priority: settings.priority,
      attempt: 0,
      max_attempts: settings.max_attempts,
      backoff_seconds: settings.backoff_seconds,
      not_before: null,
      worker_faults: 0,
      avoids: [],
      worker_id: null,
      lease_expires_at: null,
      requirement_id,
      payload: { pipeline: plan.pipeline, dataset: plan.dataset },
      pipeline_label: plan.pipeline_label,
      dataset_label: plan.dataset_label,
      timeout_seconds: settings.timeout_seconds,
      created_at: job.created_at,
      updated_at: job.created_at,
      started_at: null,
      result: null,
      rank_value: null,
      model_artifact_id: null,
      error: null,
      last_report: null,
    };
    turn.addTask(row);
  }
  return plans.length;
}

function artifactRefs(spec: JobSpec): { path: string; id: string }[] {
  const places = [
    ...pipelinesOf(spec).map((ref, i) => ({ ref, path: spec.pipelines ? `/pipelines/${i}` : '/pipeline' })),
    ...datasetsOf(spec).map((ref, i) => ({ ref, path: spec.datasets ? `/datasets/${i}` : '/dataset' })),
  ];
  return places.flatMap(({ ref, path }) => {
    if (ref.kind === 'artifact') return [{ path: `${path}/artifact_id`, id: ref.artifact_id }];
    if (ref.kind !== 'python_entrypoint' || ref.bundle_artifact_id === undefined) return [];
    return [{ path: `${path}/bundle_artifact_id`, id: ref.bundle_artifact_id }];
  });
}

/** @throws ClusterError `invalid_body`, naming each reference that leads nowhere */
function assertArtifacts(spec: JobSpec, fetched: Fetched): void {
  const faults: Fault[] = artifactRefs(spec)
    .filter((ref) => !fetched.artifacts.has(ref.id))
    .map((ref) => ({ path: ref.path, message: `no artifact with id '${ref.id}'` }));
  if (faults.length > 0) throw ClusterError.invalid('job', faults);
}
