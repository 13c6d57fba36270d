import { accepted, admitReport, illegal } from '../reports.ts';
import type { Verb } from '../verb.ts';

/** Failure; the task is queued again while attempts remain and the failure is retriable. */
export const failTask: Verb<'fail_task'> = {
  whenStoreFails: 'wait',
  needs: ({ task_id }) => ({ tasks: [task_id] }),
  run(message, { turn }) {
    const { task, repeated } = admitReport(turn, message, 'fail');
    if (repeated) return { ok: repeated.ok, requeued: repeated.requeued ?? false };
    const { error, traceback, retriable = true } = message.failure;
    const { row } = task;
    const requeued = retriable && row.state !== 'stopping' && row.attempt < row.max_attempts;
    const answer = { ok: true, requeued };
    const report = accepted(task, message, 'fail', answer);
    if (!turn.tellTask(task, { type: 'FAIL', error, retriable, traceback, report }))
      throw illegal(task, 'failed');
    return answer;
  },
};
