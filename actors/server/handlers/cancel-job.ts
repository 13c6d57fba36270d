import { beginBulk, whenBulkDone } from '../jobs/bulk-command.ts';
import type { Handler } from './handler.ts';

/** Cancels a job: its queued and leased tasks at once, its running ones when their workers let go. */
export const cancelJob: Handler<'cancel_job'> = {
  preload: ({ job_id }) => ({ jobs: [job_id] }),
  async handle({ job_id, principal }, { turn, answer }) {
    const job = turn.job(job_id);
    turn.event(
      { job_id },
      {
        level: 'warning',
        type: 'job_cancel_requested',
        message: `cancellation requested by ${principal.name}`,
        data: { principal: principal.name, status: job.row.status },
      },
    );
    if (turn.tellJob(job, { type: 'CANCEL' })) await beginBulk(turn, job);
    return whenBulkDone(turn, job_id, answer);
  },
};
