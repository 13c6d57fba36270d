import { ClusterError } from '../../../machines/errors.ts';
import type { Verb } from '../verb.ts';

/** Queues the failed tasks of a failed job again, with more attempts; the count of attempts goes on. */
export const retryJob: Verb<'retry_job'> = {
  needs: ({ job_id }) => ({ jobs: [job_id], tasksOf: [{ job: job_id, statuses: ['failed'] }] }),
  run({ job_id }, { turn }) {
    const job = turn.core.registry.job(job_id);
    if (!turn.tellJob(job, { type: 'RETRY' })) {
      throw new ClusterError(
        'illegal_transition',
        `job ${job_id} is ${job.row.status}; only a failed job can be retried`,
      );
    }
    for (const task of turn.core.registry.tasks.values()) {
      if (task.row.job_id !== job_id) continue;
      turn.tellTask(task, { type: 'RETRY', extra_attempts: job.row.retry_attempts });
    }
    return { job_id };
  },
};
