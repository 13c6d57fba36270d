import type { MessageOf, Submitted } from '../../../gateway/messages.ts';
import { newSelection, type TaskRole } from '../../../machines/job/selection.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { noStanding, rankedBy } from '../../../machines/ranking/standing.ts';
import { MAX_TASKS } from '../../../machines/schema/job.ts';
import { MAX_VARIANTS } from '../../../machines/schema/select-limits.ts';
import type { ValidationIssue } from '../../../machines/schema/validate.ts';
import { contentKeys } from '../../../machines/submission/contents.ts';
import {
  type JobSettings,
  numTasks,
  planAt,
  type TaskMatrix,
} from '../../../machines/submission/decompose.ts';
import type { JobDigest } from '../../../machines/submission/job-digest.ts';
import { beginBulk, beginBulkLater, whenBulkDone } from '../jobs/bulk-command.ts';
import { withModel } from '../jobs/models.ts';
import { newTask } from '../jobs/new-task.ts';
import { jobView } from '../reads/views.ts';
import type { JobCell } from '../runtime/actor-cell.ts';
import type { JobRow } from '../store/rows.ts';
import { inSteps } from '../turn/steps.ts';
import type { Turn } from '../turn/turn.ts';
import { type Handler, keyOf, type Preload, type Preloaded, WAITING } from './handler.ts';

type Submit = MessageOf<'submit_job'>;

/** Persists a job with all its tasks; the same idempotency key with a body that means the same gives the same job. */
export const submitJob: Handler<'submit_job'> = {
  preload: ({ job, principal }) => ({
    ...namedBy(job),
    ...(job.idempotency_key === null ? {} : { key: { owner: principal.name, key: job.idempotency_key } }),
  }),
  handle(message, { turn, preloaded, answer }) {
    const submitted = inSteps(submit(message, turn, preloaded));
    if (message.job.reuse === null) return submitted;
    return whenReused(submitted, turn, answer);
  },
};

/** What of the store decides whether a job is taken. */
export const namedBy = ({ artifacts, model }: JobDigest): Preload => ({
  artifacts: artifacts.ids,
  ...(model?.kind === 'best_model' && { bestModelsOf: [model.job_id] }),
  ...(model?.kind === 'artifact' && { models: [model.artifact_id] }),
});

/** What is known before is looked up before anybody is answered. */
async function whenReused(
  submitted: Submitted | Promise<Submitted>,
  turn: Turn,
  answer: (reply: Submitted) => void,
): Promise<Submitted | typeof WAITING> {
  const reply = await submitted;
  const job = turn.findJob(reply.job_id);
  if (job?.row.state !== 'reusing' || reply.view === null) return reply;
  const { job_id } = reply;
  const { num_tasks } = job.row;
  const last = (job.row.next_seq ?? turn.core.sequences.task) - 1;
  if (num_tasks <= turn.core.settings.sliceSize) await beginBulk(turn, job);
  else beginBulkLater(turn, job, { from: last - num_tasks + 1, to: last });
  const done = whenBulkDone(turn, job_id, () => answer({ job_id, view: null }));
  return done === WAITING ? WAITING : { job_id, view: null };
}

function* submit(message: Submit, turn: Turn, preloaded: Preloaded) {
  const earlier = submittedBefore(message, turn, preloaded);
  if (earlier !== null) return { job_id: earlier, view: null };
  assertArtifacts(message.job, preloaded);
  const digest = withModel(message, turn, preloaded);
  const job = turn.addJob(newJob(message, turn), digest.text);
  for (const artifact_id of new Set(digest.artifacts.ids)) turn.inputs.push({ job_id: job.id, artifact_id });
  const count = tasksAtFirst(digest.matrix, digest.settings);
  yield* addTasks(job, digest, turn, preloaded);
  turn.event(
    { job_id: job.id },
    {
      level: 'info',
      type: 'job_submitted',
      message: `job ${job.row.name ? `${job.row.name} ` : ''}submitted with ${count} task(s)`,
      data: {
        ...{ num_tasks: count, owner: job.row.owner, priority: job.row.priority },
        ...(job.row.reuse !== null && { reuse: job.row.reuse }),
      },
    },
  );
  if (job.row.idempotency_key !== null) {
    const key = keyOf(job.row.owner, job.row.idempotency_key);
    turn.keepKey(key, { job_id: job.id, meaning: message.job.meaning, request: message.job.text });
  }
  return { job_id: job.id, view: jobView(job.row, [], {}) };
}

/** @throws ClusterError `idempotency_conflict` */
function submittedBefore({ job, principal }: Submit, turn: Turn, preloaded: Preloaded): string | null {
  if (job.idempotency_key === null) return null;
  const key = keyOf(principal.name, job.idempotency_key);
  const found = turn.jobUnder(key) ?? preloaded.keys.get(key);
  if (!found) return null;
  const isSame = found.meaning === null ? found.request === job.text : found.meaning === job.meaning;
  if (isSame) return found.job_id;
  throw new ClusterError(
    'idempotency_conflict',
    `idempotency key '${job.idempotency_key}' was used for job ${found.job_id} with another body; use a new key`,
  );
}

/** A creation time larger than that of every job before. */
function createdAt({ core: { sequences }, now }: Turn): number {
  // Microseconds, which a double and SQLite's text conversion both keep exactly.
  const next = Math.max(now, Math.round(sequences.lastCreatedAt * 1e6 + 1) / 1e6);
  sequences.lastCreatedAt = next;
  return next;
}

function newJob({ job, principal }: Submit, turn: Turn): JobRow {
  const { settings } = job;
  const { datasets } = job.matrix;
  const num_tasks = tasksAtFirst(job.matrix, settings);
  const standings = settings.rank_metrics.map(noStanding);
  const created_at = createdAt(turn);
  return {
    seq: turn.core.sequences.job++,
    id: turn.makeId('job'),
    type: job.type,
    name: job.name,
    note: job.note,
    tags: job.tags,
    status: 'queued',
    state: job.reuse !== null && job.contents !== null ? 'reusing' : 'ready',
    priority: settings.priority,
    moved: null,
    created_at,
    updated_at: created_at,
    keep: job.keep,
    owner: principal.name,
    granted_rights: principal.rights,
    warnings: job.warnings,
    error: null,
    idempotency_key: job.idempotency_key,
    retry_attempts: settings.max_attempts,
    pins_fingerprint: job.pins_fingerprint,
    is_dag: job.is_dag,
    meaning: job.meaning,
    reuse: job.reuse,
    num_tasks,
    counts: { queued: num_tasks, leased: 0, running: 0, lost: 0, succeeded: 0, failed: 0, cancelled: 0 },
    standings,
    num_reused: 0,
    selection:
      settings.selects &&
      newSelection(datasets, settings.rank_metrics, {
        refit: settings.selects.refit,
        variants: settings.selects.expands ? null : job.matrix.pipelines.length,
      }),
    next_seq: null,
    last_seq: null,
    run_times: null,
    resubmitted_from: job.resubmitted_from,
    ...rankedBy(standings),
  };
}

/** Tasks that are added without a break. */
const AT_ONCE = 1000;

function* addTasks(
  job: JobCell,
  { matrix, settings, contents }: JobDigest,
  turn: Turn,
  { artifacts }: Preloaded,
): Generator<void> {
  const requirements = matrix.requirements.map((asked) => {
    const { id, fresh } = turn.core.queue.requirements.number(turn, asked, job.row);
    if (fresh) turn.requirements.push(fresh);
    return id;
  });
  const { selects } = settings;
  const count = tasksAtFirst(matrix, settings);
  const contentKey = contents === null ? null : contentKeys(contents, artifacts);
  for (let place = 0; place < count; place++) {
    if (place > 0 && place % AT_ONCE === 0) yield;
    const plan = planAt(matrix, place);
    const { pipeline, dataset } = plan;
    const role: TaskRole | null = selects && (selects.expands ? 'expansion' : 'variant');
    const own = {
      seq: turn.core.sequences.task++,
      backoff_seconds: settings.backoff_seconds,
      requirement_id: requirements[plan.requirement] as number,
      payload: role ? { pipeline, dataset, role } : { pipeline, dataset },
      pipeline_label: plan.pipeline_label,
      pipeline_steps: plan.pipeline_steps,
      dataset_label: plan.dataset_label,
      timeout_seconds: settings.timeout_seconds,
      content_key: role === 'expansion' ? null : (contentKey?.(place) ?? null),
    };
    turn.addTask(newTask(turn, job.row, own, job.row.created_at));
  }
  if (selects !== null) keepNumbers(turn, job, { matrix, settings });
}

/** The tasks that a job begins with. */
const tasksAtFirst = (matrix: TaskMatrix, { selects }: JobSettings): number =>
  selects?.expands ? 1 : numTasks(matrix);

/** Refits that the numbers of a job suffice for on each dataset; more of them stand behind what came meanwhile. */
const REFITS = 16;

/** What a job that selects will have later stands in the queue where it stands. */
function keepNumbers(
  turn: Turn,
  job: JobCell,
  { matrix, settings }: Pick<JobDigest, 'matrix' | 'settings'>,
): void {
  const { sequences } = turn.core;
  const datasets = matrix.datasets.length;
  const variants = settings.selects?.expands ? Math.min(MAX_TASKS, MAX_VARIANTS * datasets) : 0;
  const next_seq = sequences.task;
  const last_seq = next_seq + variants + REFITS * datasets - 1;
  sequences.task = last_seq + 1;
  job.amend(turn, { next_seq, last_seq });
}

/** @throws ClusterError `invalid_body`, naming each reference that leads nowhere */
export function assertArtifacts({ artifacts: { ids, paths } }: JobDigest, preloaded: Preloaded): void {
  const faults: ValidationIssue[] = [];
  for (const [i, id] of ids.entries()) {
    if (!preloaded.artifacts.has(id))
      faults.push({ path: paths[i] as string, message: `no artifact with id '${id}'` });
  }
  if (faults.length > 0) throw ClusterError.invalid('job', faults);
}
