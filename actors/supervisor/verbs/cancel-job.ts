import { beginTelling, whenAllTold } from '../telling.ts';
import type { Verb } from '../verb.ts';

/** Cancels a job: its queued and leased tasks at once, its running ones when their workers let go. */
export const cancelJob: Verb<'cancel_job'> = {
  needs: ({ job_id }) => ({ jobs: [job_id] }),
  async run({ job_id, principal }, { turn, answer }) {
    const job = turn.core.registry.job(job_id);
    turn.event(
      { job_id },
      {
        level: 'warning',
        type: 'job_cancel_requested',
        message: `cancellation requested by ${principal.name}`,
        data: { principal: principal.name, status: job.row.status },
      },
    );
    if (turn.tellJob(job, { type: 'CANCEL' })) await beginTelling(turn, job);
    return whenAllTold(turn, job_id, answer);
  },
};
