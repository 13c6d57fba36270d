import type { Verb } from '../verb.ts';

/** Cancels a job: its queued and leased tasks at once, its running ones when their workers let go. */
export const cancelJob: Verb<'cancel_job'> = {
  needs: ({ job_id }) => ({
    jobs: [job_id],
    tasksOf: [{ job: job_id, statuses: ['queued', 'leased', 'running'] }],
  }),
  run({ job_id, principal }, { turn }) {
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
    if (!turn.tellJob(job, { type: 'CANCEL' })) return { job_id };
    for (const task of turn.core.registry.tasks.values()) {
      if (task.row.job_id === job_id) turn.tellTask(task, { type: 'CANCEL' });
    }
    return { job_id };
  },
};
