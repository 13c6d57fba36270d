import { FOREVER } from '../../../machines/job/keep.ts';
import { assertOwner } from './delete-job.ts';
import type { Handler } from './handler.ts';

/** Changes what no statechart decides of a job. */
export const changeJob: Handler<'change_job'> = {
  preload: ({ job_id }) => ({ jobs: [job_id] }),
  handle({ principal, job_id, change }, { turn }) {
    const job = turn.core.directory.job(job_id);
    assertOwner(principal, job.row, 'changes');
    const { keep } = change;
    if (keep !== undefined && keep !== job.row.keep) {
      job.amend(turn, { keep });
      const how = keep === null ? 'as the server is set' : keep === FOREVER ? 'for ever' : `for ${keep}`;
      turn.event(
        { job_id },
        {
          level: 'info',
          type: 'job_changed',
          message: `the job is kept ${how}, as ${principal.name} wishes`,
          data: { principal: principal.name, keep },
        },
      );
    }
    return { job_id };
  },
};
