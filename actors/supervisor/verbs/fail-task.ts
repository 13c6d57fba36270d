import { boundedFailure } from '../../../machines/report-limits.ts';
import type { Failure } from '../../../machines/task.ts';
import { isTriedAgain } from '../../../machines/task-failure.ts';
import { couldRunElsewhere, registrationOf } from '../eligibility.ts';
import { accepted, admitReport, illegal } from '../reports.ts';
import type { Verb } from '../verb.ts';

/**
 * Failure; the task is queued again while attempts remain and the failure is retriable. A fault of the worker's own
 * costs no attempt, and the task is tried again elsewhere or not at all (contract, "Reports").
 */
export const failTask: Verb<'fail_task'> = {
  whenStoreFails: 'wait',
  needs: ({ task_id }) => ({ tasks: [task_id] }),
  run(message, { turn }) {
    const { task, repeated } = admitReport(turn, message, 'fail');
    if (repeated) return { ok: repeated.ok, requeued: repeated.requeued ?? false };
    const {
      error,
      traceback,
      retriable = true,
      fault = 'task',
      missing_path,
    } = boundedFailure(message.failure);
    const { row } = task;
    const worker = turn.core.registry.worker(message.worker_id);
    const failure: Failure = {
      error,
      traceback,
      retriable,
      fault,
      missing_path: fault === 'worker' ? missing_path : undefined,
      by: registrationOf(worker),
      elsewhere: fault === 'worker' && couldRunElsewhere(turn.core, row, worker),
    };
    const requeued = row.state !== 'stopping' && isTriedAgain(row, failure);
    const answer = { ok: true, requeued };
    const report = accepted(task, message, 'fail', answer);
    if (!turn.tellTask(task, { type: 'FAIL', now: turn.now, report, ...failure }))
      throw illegal(task, 'failed');
    return answer;
  },
};
