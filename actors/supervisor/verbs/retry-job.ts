import { ClusterError } from '../../../machines/errors.ts';
import type { JobDocument } from '../documents.ts';
import { placesOf } from '../named-paths.ts';
import type { Registry } from '../registry.ts';
import { beginTelling, whenAllTold } from '../telling.ts';
import type { Turn } from '../turn.ts';
import type { Verb } from '../verb.ts';

/** Queues failed tasks of a job that has ended again, with more attempts; the count of attempts goes on. */
export const retryJob: Verb<'retry_job'> = {
  needs: ({ job_id }) => ({ jobs: [job_id], pathsOf: [job_id] }),
  async run({ job_id, task_ids }, { turn, fetched, answer }) {
    const { registry } = turn.core;
    const job = registry.job(job_id);
    const chosen = task_ids === undefined ? null : await failedTasks(task_ids, job_id, registry);
    if (!turn.tellJob(job, { type: 'RETRY' })) {
      throw new ClusterError(
        'illegal_transition',
        `job ${job_id} is ${job.row.status}${job.row.status === 'succeeded' ? ', and none of its tasks failed' : ''}; only a job that failed, or succeeded with failed tasks, can be retried`,
      );
    }
    tryPathsAnew(turn, fetched.documents.get(job_id));
    await beginTelling(turn, job, chosen);
    return whenAllTold(turn, job_id, answer);
  },
};

/**
 * The numbers of the tasks that are to be queued again, in order.
 * @throws ClusterError `illegal_transition`, naming one that is none of the job's failed tasks
 */
async function failedTasks(ids: readonly string[], jobId: string, registry: Registry): Promise<number[]> {
  const { seqs, others } = await registry.numbersOf(jobId, 'failed', new Set(ids));
  if (others === null) return seqs;
  throw new ClusterError('illegal_transition', `${others} is not a failed task of job ${jobId}`);
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
