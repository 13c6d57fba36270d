import { ClusterError } from '../../../machines/errors.ts';
import type { JobDocument } from '../documents.ts';
import { placesOf } from '../named-paths.ts';
import type { Turn } from '../turn.ts';
import type { Verb } from '../verb.ts';

/** Queues the failed tasks of a failed job again, with more attempts; the count of attempts goes on. */
export const retryJob: Verb<'retry_job'> = {
  needs: ({ job_id }) => ({
    jobs: [job_id],
    pathsOf: [job_id],
    tasksOf: [{ job: job_id, statuses: ['failed'] }],
  }),
  run({ job_id }, { turn, fetched }) {
    const job = turn.core.registry.job(job_id);
    if (!turn.tellJob(job, { type: 'RETRY' })) {
      throw new ClusterError(
        'illegal_transition',
        `job ${job_id} is ${job.row.status}; only a failed job can be retried`,
      );
    }
    tryPathsAnew(turn, fetched.documents.get(job_id));
    for (const task of turn.core.registry.tasks.values()) {
      if (task.row.job_id !== job_id) continue;
      turn.tellTask(task, { type: 'RETRY', extra_attempts: job.row.retry_attempts });
    }
    return { job_id };
  },
};

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
