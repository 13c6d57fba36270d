import type { MessageOf } from '../../../gateway/messages.ts';
import { ClusterError } from '../../../machines/errors.ts';
import type { TaskAddress } from '../address.ts';
import type { JobDocument } from '../documents.ts';
import { placesOf } from '../named-paths.ts';
import type { Registry } from '../registry.ts';
import { inSteps, withBreaks } from '../steps.ts';
import type { Turn } from '../turn.ts';
import type { Fetched, Verb } from '../verb.ts';

/** Queues failed tasks of a job that has ended again, with more attempts; the count of attempts goes on. */
export const retryJob: Verb<'retry_job'> = {
  needs: ({ job_id }) => ({
    jobs: [job_id],
    pathsOf: [job_id],
    tasksOf: [{ job: job_id, statuses: ['failed'] }],
  }),
  run: (message, { turn, fetched }) => inSteps(retry(message, turn, fetched)),
};

function* retry({ job_id, task_ids }: MessageOf<'retry_job'>, turn: Turn, fetched: Fetched) {
  const { registry } = turn.core;
  const job = registry.job(job_id);
  const tasks = task_ids === undefined ? registry.tasksOf(job_id) : failedTasks(task_ids, job_id, registry);
  if (!turn.tellJob(job, { type: 'RETRY' })) {
    throw new ClusterError(
      'illegal_transition',
      `job ${job_id} is ${job.row.status}${job.row.status === 'succeeded' ? ', and none of its tasks failed' : ''}; only a job that failed, or succeeded with failed tasks, can be retried`,
    );
  }
  tryPathsAnew(turn, fetched.documents.get(job_id));
  yield* withBreaks(tasks, (task) => {
    turn.tellTask(task, { type: 'RETRY', extra_attempts: job.row.retry_attempts });
    task.letGo();
  });
  return { job_id };
}

/** @throws ClusterError `illegal_transition`, naming the first that is none of the job's failed tasks */
function failedTasks(ids: readonly string[], jobId: string, registry: Registry): TaskAddress[] {
  return [...new Set(ids)].map((id) => {
    const task = registry.tasks.get(id);
    if (task?.row.job_id === jobId && task.row.status === 'failed') return task;
    throw new ClusterError('illegal_transition', `${id} is not a failed task of job ${jobId}`);
  });
}

/** Who retries has perhaps mounted the share meanwhile: paths that the job names are no longer taken for missing. */
function tryPathsAnew(turn: Turn, document: JobDocument | undefined): void {
  if (!document) return;
  for (const worker of turn.core.registry.workers.values()) {
    if (worker.missing.size === 0) continue;
    const named = placesOf(document, (path) => worker.missing.has(path));
    const again = new Set([...named.pipelines.values(), ...named.datasets.values()]);
    worker.missing.forget(turn, (path) => again.has(path));
    turn.woken.add(worker.id);
  }
}
