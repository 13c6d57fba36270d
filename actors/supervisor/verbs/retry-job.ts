import type { MessageOf } from '../../../gateway/messages.ts';
import { ClusterError } from '../../../machines/errors.ts';
import type { JobDocument } from '../documents.ts';
import { placesOf } from '../named-paths.ts';
import { inSteps, withBreaks } from '../steps.ts';
import type { Turn } from '../turn.ts';
import type { Fetched, Verb } from '../verb.ts';

/** Queues the failed tasks of a failed job again, with more attempts; the count of attempts goes on. */
export const retryJob: Verb<'retry_job'> = {
  needs: ({ job_id }) => ({
    jobs: [job_id],
    pathsOf: [job_id],
    tasksOf: [{ job: job_id, statuses: ['failed'] }],
  }),
  run: (message, { turn, fetched }) => inSteps(retry(message, turn, fetched)),
};

function* retry({ job_id }: MessageOf<'retry_job'>, turn: Turn, fetched: Fetched) {
  const { registry } = turn.core;
  const job = registry.job(job_id);
  if (!turn.tellJob(job, { type: 'RETRY' })) {
    throw new ClusterError(
      'illegal_transition',
      `job ${job_id} is ${job.row.status}; only a failed job can be retried`,
    );
  }
  tryPathsAnew(turn, fetched.documents.get(job_id));
  yield* withBreaks(registry.tasksOf(job_id), (task) => {
    turn.tellTask(task, { type: 'RETRY', extra_attempts: job.row.retry_attempts });
    task.letGo();
  });
  return { job_id };
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
