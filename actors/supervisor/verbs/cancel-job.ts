import type { MessageOf } from '../../../gateway/messages.ts';
import { inSteps, withBreaks } from '../steps.ts';
import type { Turn } from '../turn.ts';
import type { Verb } from '../verb.ts';

/** Cancels a job: its queued and leased tasks at once, its running ones when their workers let go. */
export const cancelJob: Verb<'cancel_job'> = {
  needs: ({ job_id }) => ({
    jobs: [job_id],
    tasksOf: [{ job: job_id, statuses: ['queued', 'leased', 'running'] }],
  }),
  run: (message, { turn }) => inSteps(cancel(message, turn)),
};

function* cancel({ job_id, principal }: MessageOf<'cancel_job'>, turn: Turn) {
  const { registry } = turn.core;
  const job = registry.job(job_id);
  turn.event(
    { job_id },
    {
      level: 'warning',
      type: 'job_cancel_requested',
      message: `cancellation requested by ${principal.name}`,
      data: { principal: principal.name, status: job.row.status },
    },
  );
  if (turn.tellJob(job, { type: 'CANCEL' })) {
    yield* withBreaks(registry.tasksOf(job_id), (task) => {
      turn.tellTask(task, { type: 'CANCEL' });
      // Of very many, their actors are not kept until the turn is over; rows they are.
      task.letGo();
    });
  }
  return { job_id };
}
