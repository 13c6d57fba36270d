import type { MessageOf, Submitted } from '../../../gateway/messages.ts';
import { contentKeys } from '../../../machines/contents.ts';
import { numTasks, planAt } from '../../../machines/decompose.ts';
import { ClusterError } from '../../../machines/errors.ts';
import type { JobDigest } from '../../../machines/job-digest.ts';
import { noStanding, rankedBy } from '../../../machines/ranking/standing.ts';
import type { Fault } from '../../../machines/schema/validate.ts';
import type { JobRow, TaskRow } from '../../store/rows.ts';
import { jobView } from '../../views.ts';
import { inSteps } from '../steps.ts';
import { beginTelling, tellLater, whenAllTold } from '../telling.ts';
import type { Turn } from '../turn.ts';
import { type Fetched, keyOf, PARKED, type Verb } from '../verb.ts';

type Submit = MessageOf<'submit_job'>;

/** Persists a job with all its tasks; the same idempotency key with a body that means the same gives the same job. */
export const submitJob: Verb<'submit_job'> = {
  needs: ({ job, principal }) => ({
    artifacts: job.artifacts.ids,
    ...(job.idempotency_key === null ? {} : { key: { owner: principal.name, key: job.idempotency_key } }),
  }),
  run(message, { turn, fetched, answer }) {
    const submitted = inSteps(submit(message, turn, fetched));
    if (message.job.reuse === null) return submitted;
    return whenReused(submitted, turn, answer);
  },
};

/** What is known before is looked up before anybody is answered. */
async function whenReused(
  submitted: Submitted | Promise<Submitted>,
  turn: Turn,
  answer: (reply: Submitted) => void,
): Promise<Submitted | typeof PARKED> {
  const reply = await submitted;
  const job = turn.core.registry.jobs.get(reply.job_id);
  if (job?.row.state !== 'reusing' || reply.view === null) return reply;
  const { job_id } = reply;
  const { num_tasks } = job.row;
  const last = turn.core.sequences.task - 1;
  if (num_tasks <= turn.core.settings.sliceSize) await beginTelling(turn, job);
  else tellLater(turn, job, { from: last - num_tasks + 1, to: last });
  const told = whenAllTold(turn, job_id, () => answer({ job_id, view: null }));
  return told === PARKED ? PARKED : { job_id, view: null };
}

function* submit(message: Submit, turn: Turn, fetched: Fetched) {
  const earlier = submittedBefore(message, turn, fetched);
  if (earlier !== null) return { job_id: earlier, view: null };
  assertArtifacts(message.job, fetched);
  const job = turn.addJob(newJob(message, turn), message.job.text);
  const count = numTasks(message.job.matrix);
  yield* addTasks(job.row, message.job, turn, fetched);
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
function submittedBefore({ job, principal }: Submit, turn: Turn, fetched: Fetched): string | null {
  if (job.idempotency_key === null) return null;
  const key = keyOf(principal.name, job.idempotency_key);
  const found = turn.jobUnder(key) ?? fetched.keys.get(key);
  if (!found) return null;
  const isSame = found.meaning === null ? found.request === job.text : found.meaning === job.meaning;
  if (isSame) return found.job_id;
  throw new ClusterError(
    'idempotency_conflict',
    `idempotency key '${job.idempotency_key}' was used for job ${found.job_id} with another body; use a new key`,
  );
}

function newJob({ job, principal }: Submit, turn: Turn): JobRow {
  const { settings } = job;
  const num_tasks = numTasks(job.matrix);
  const standings = settings.rank_metrics.map(noStanding);
  const created_at = turn.createdAt();
  return {
    seq: turn.core.sequences.job++,
    id: turn.core.makeId('job'),
    type: job.type,
    name: job.name,
    status: 'queued',
    state: job.reuse !== null && job.contents !== null ? 'reusing' : 'ready',
    priority: settings.priority,
    created_at,
    updated_at: created_at,
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
    ...rankedBy(standings),
  };
}

/** Tasks that are added without a break. */
const AT_ONCE = 1000;

function* addTasks(
  job: JobRow,
  { matrix, settings, contents }: JobDigest,
  turn: Turn,
  { artifacts }: Fetched,
): Generator<void> {
  const requirements = matrix.requirements.map((asked) => {
    const { id, fresh } = turn.core.requirements.number(turn, asked);
    if (fresh) turn.requirement(fresh);
    return id;
  });
  const count = numTasks(matrix);
  const contentKey = contents === null ? null : contentKeys(contents, artifacts);
  for (let place = 0; place < count; place++) {
    if (place > 0 && place % AT_ONCE === 0) yield;
    const plan = planAt(matrix, place);
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
      requirement_id: requirements[plan.requirement] as number,
      payload: { pipeline: plan.pipeline, dataset: plan.dataset },
      pipeline_label: plan.pipeline_label,
      pipeline_steps: plan.pipeline_steps,
      dataset_label: plan.dataset_label,
      timeout_seconds: settings.timeout_seconds,
      created_at: job.created_at,
      updated_at: job.created_at,
      started_at: null,
      result: null,
      rank_value: null,
      rank_others: [],
      model_artifact_id: null,
      error: null,
      last_report: null,
      content_key: contentKey?.(place) ?? null,
      reused_from: null,
    };
    turn.addTask(row);
  }
}

/** @throws ClusterError `invalid_body`, naming each reference that leads nowhere */
function assertArtifacts({ artifacts: { ids, paths } }: JobDigest, fetched: Fetched): void {
  const faults: Fault[] = [];
  for (const [i, id] of ids.entries()) {
    if (!fetched.artifacts.has(id))
      faults.push({ path: paths[i] as string, message: `no artifact with id '${id}'` });
  }
  if (faults.length > 0) throw ClusterError.invalid('job', faults);
}
