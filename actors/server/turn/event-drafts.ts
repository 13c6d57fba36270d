import type { JobEmission } from '../../../machines/job/job.ts';
import { phaseOf } from '../../../machines/job/selection.ts';
import { compose, RawJson } from '../../../machines/json/raw.ts';
import type { Level } from '../../../machines/schema/report.ts';
import type { TaskEmission } from '../../../machines/task/task.ts';
import type { WorkerEmission } from '../../../machines/worker/worker.ts';
import { aggregateOf } from '../reads/views.ts';
import type { JobRow, TaskRow, WorkerRow } from '../store/rows.ts';

/** What clients see of an emission, before it has an id and a time. */
export interface EventDraft {
  level: Level;
  type: string;
  message: string;
  data: Readonly<Record<string, unknown>> | RawJson;
}

/** Of an event that a worker reported, under whatever type it likes: nobody takes it for one of the server's own. */
export class ReportedData extends RawJson {}

const title = (row: { id: string; name: string | null }) => (row.name ? `${row.name} (${row.id})` : row.id);

/** Whether a task is to be queued that refits what was selected. */
export const wantsRefit = (emission: JobEmission): boolean =>
  emission.type === 'variant_selected' && emission.choice.refit === 'wanted';

export function describeJobEvent(row: JobRow, emission: JobEmission): EventDraft {
  const { counts } = row;
  const ended = () => {
    const { ranking: _, errors: __, ...aggregate } = aggregateOf(row, [], {});
    return {
      num_tasks: row.num_tasks,
      num_succeeded: counts.succeeded,
      num_failed: counts.failed,
      aggregate,
    };
  };
  switch (emission.type) {
    case 'job_running':
      return {
        level: 'info',
        type: emission.type,
        message: `job ${title(row)} is running`,
        data: phaseIn(row),
      };
    case 'job_succeeded':
      return {
        level: 'info',
        type: emission.type,
        message: `job ${title(row)} succeeded: ${counts.succeeded} of ${row.num_tasks} tasks`,
        data: { ...ended(), best_metric: row.best_metric, best_task_id: row.best_task_id },
      };
    case 'job_failed':
      return {
        level: 'error',
        type: emission.type,
        message: `job ${title(row)} failed: ${emission.error}`,
        data: { ...ended(), error: emission.error },
      };
    case 'job_cancelled':
      return {
        level: 'warning',
        type: emission.type,
        message: `job ${title(row)} was cancelled`,
        data: ended(),
      };
    case 'job_retried':
      return { level: 'info', type: emission.type, message: `job ${title(row)} is tried again`, data: {} };
    case 'variants_found':
      return {
        level: 'info',
        type: emission.type,
        message: `job ${title(row)} has ${emission.variants} variant(s) on each dataset`,
        data: { variants: emission.variants, ...phaseIn(row) },
      };
    case 'variant_selected':
    case 'selection_failed':
    case 'refit_queued':
      return describeSelection(row, emission);
  }
}

/** Which phase a job is in that selects, as the event leaves it. */
const phaseIn = ({ status, selection }: JobRow) =>
  selection && status === 'running' ? { phase: phaseOf(selection) } : {};

function describeSelection(
  row: JobRow,
  emission: Extract<JobEmission, { type: 'variant_selected' | 'selection_failed' | 'refit_queued' }>,
): EventDraft {
  const { type } = emission;
  const dataset = row.selection?.datasets[emission.dataset]?.dataset ?? '';
  if (type === 'refit_queued') {
    const { task_id } = emission;
    const message = `task ${task_id} refits the best variant on ${dataset}`;
    return { level: 'info', type, message, data: { dataset, task_id } };
  }
  if (type === 'selection_failed') {
    const { error } = emission;
    return { level: 'error', type, message: error, data: { dataset, error, ...phaseIn(row) } };
  }
  const { task_id, pipeline, metric, mode, value, refit, refit_task_id } = emission.choice;
  return {
    level: 'info',
    type,
    message: `task ${task_id} is the best variant on ${dataset} by ${metric}: ${value}`,
    data: {
      ...{ dataset, task_id, pipeline, metric, mode, value, refit: refit !== 'none', refit_task_id },
      ...phaseIn(row),
    },
  };
}

/** What clients see as an event. */
export type TaskEventEmission = Extract<TaskEmission, { type: `task_${string}` }>;
export type WorkerEventEmission = Extract<WorkerEmission, { type: `worker_${string}` }>;

export function describeTaskEvent(row: TaskRow, emission: TaskEventEmission): EventDraft {
  const name = `task ${row.pipeline_steps ?? row.pipeline_label} × ${row.dataset_label}`;
  const data = { attempt: row.attempt, max_attempts: row.max_attempts };
  const of = `attempt ${row.attempt} of ${row.max_attempts}`;
  switch (emission.type) {
    case 'task_leased':
      return { level: 'info', type: emission.type, message: `${name} leased, ${of}`, data };
    case 'task_started':
      return { level: 'info', type: emission.type, message: `${name} started`, data };
    case 'task_completed':
      return {
        level: 'info',
        type: emission.type,
        message: `${name} succeeded`,
        data: new RawJson(
          compose({ ...data, rank_value: emission.rank_value, metrics: new RawJson(emission.metrics) }),
        ),
      };
    case 'task_reused': {
      const { rank_value, reused_from } = emission;
      return {
        level: 'info',
        type: emission.type,
        message: `${name} succeeded: its result is that of task ${reused_from.task_id} of job ${reused_from.job_id}`,
        data: new RawJson(
          compose({ ...data, rank_value, metrics: new RawJson(emission.metrics), reused_from }),
        ),
      };
    }
    case 'task_failed': {
      const { type: _, ...failure } = emission;
      return {
        level: failure.requeued ? 'warning' : 'error',
        type: emission.type,
        message: `${name} failed (${of}): ${failure.error}`,
        data: { ...data, ...failure },
      };
    }
    case 'task_lost':
      return { level: 'warning', type: emission.type, message: `${name} lost: its worker fell silent`, data };
    case 'task_requeued':
      return {
        level: 'info',
        type: emission.type,
        message: `${name} queued again (${emission.reason.replace('_', ' ')})`,
        data: { ...data, reason: emission.reason },
      };
    case 'task_cancelled':
      return { level: 'warning', type: emission.type, message: `${name} cancelled`, data };
  }
}

export function describeWorkerEvent(row: WorkerRow, emission: WorkerEventEmission): EventDraft {
  const message = {
    worker_registered: `worker ${title(row)} registered with ${row.slots_total} slot(s)`,
    worker_dead: `worker ${title(row)} fell silent and counts as dead`,
    worker_alive: `worker ${title(row)} is back`,
    worker_suspended: `worker ${title(row)} asks for no tasks: ${row.suspended}`,
    worker_resumed: `worker ${title(row)} asks for tasks again`,
    worker_draining: `worker ${title(row)} was told to end, and finishes what it has`,
    worker_stopped: `worker ${title(row)} has ended`,
    worker_drain_ordered: `worker ${title(row)} is drained by ${row.drained?.by}: it is given no more tasks`,
    worker_drained: `worker ${title(row)} is drained: it has no task any more`,
    worker_drain_lifted: `worker ${title(row)} is given tasks again`,
    worker_removed: `worker ${title(row)} was removed`,
  }[emission.type];
  return {
    level: ['worker_dead', 'worker_suspended'].includes(emission.type) ? 'warning' : 'info',
    type: emission.type,
    message,
    data: workerData(row, emission),
  };
}

function workerData(row: WorkerRow, emission: WorkerEventEmission): Record<string, unknown> {
  if (emission.type === 'worker_registered') return { labels: row.labels, slots_total: row.slots_total };
  if (emission.type === 'worker_drain_ordered') {
    const { by, takes_back_at } = emission.order;
    return { principal: by, takes_back_at };
  }
  if (emission.type === 'worker_drained') return { status: row.status };
  return emission.type === 'worker_suspended' ? { reason: emission.reason } : {};
}
