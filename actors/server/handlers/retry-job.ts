import { ClusterError } from '../../../machines/protocol/errors.ts';
import { beginBulk, whenBulkDone } from '../jobs/bulk-command.ts';
import type { JobPieces } from '../jobs/job-pieces.ts';
import type { ActorDirectory } from '../runtime/actor-directory.ts';
import { placesOf } from '../scheduling/named-paths.ts';
import type { Turn } from '../turn/turn.ts';
import type { Handler } from './handler.ts';

/** Queues failed tasks of a job that has ended again, with more attempts; the count of attempts goes on. */
export const retryJob: Handler<'retry_job'> = {
  preload: ({ job_id }) => ({ jobs: [job_id], pathsOf: [job_id] }),
  async handle({ job_id, task_ids }, { turn, preloaded, answer }) {
    const job = turn.job(job_id);
    const chosen = task_ids === undefined ? null : await failedTasks(task_ids, job_id, turn.core.directory);
    if (!turn.tellJob(job, { type: 'RETRY' })) {
      throw new ClusterError(
        'illegal_transition',
        `job ${job_id} is ${job.row.status}${job.row.status === 'succeeded' ? ', and none of its tasks failed' : ''}; only a job that failed, or succeeded with failed tasks, can be retried`,
      );
    }
    tryPathsAnew(turn, preloaded.jobPieces.get(job_id));
    await beginBulk(turn, job, chosen);
    return whenBulkDone(turn, job_id, answer);
  },
};

/**
 * The numbers of the tasks that are to be queued again, in order.
 * @throws ClusterError `illegal_transition`, naming one that is none of the job's failed tasks
 */
async function failedTasks(
  ids: readonly string[],
  jobId: string,
  directory: ActorDirectory,
): Promise<number[]> {
  const { seqs, other } = await directory.numbersOf(jobId, 'failed', new Set(ids));
  if (other === null) return seqs;
  throw new ClusterError('illegal_transition', `${other} is not a failed task of job ${jobId}`);
}

/** Who retries has perhaps mounted the share meanwhile: paths that the job names are no longer taken for missing. */
function tryPathsAnew(turn: Turn, pieces: JobPieces | undefined): void {
  if (!pieces) return;
  for (const worker of turn.core.directory.workers.values()) {
    if (worker.missingPaths.size === 0) continue;
    const named = placesOf(pieces, (path) => worker.missingPaths.has(path));
    const again = new Set([...named.pipelines.values(), ...named.datasets.values()]);
    worker.update(turn, { missingPaths: worker.missingPaths.without((path) => again.has(path)) });
    turn.wokenWorkers.add(worker.id);
  }
}
