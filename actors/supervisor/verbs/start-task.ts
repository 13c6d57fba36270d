import { admitReport, reportOf, tellReport } from '../reports.ts';
import type { Verb } from '../verb.ts';

export const startTask: Verb<'start_task'> = {
  needs: ({ task_id, worker_id }) => ({ tasks: [task_id], workers: [worker_id] }),
  run(message, { turn }) {
    const { task, repeated } = admitReport(turn, message, 'start');
    if (repeated) return repeated;
    return tellReport(turn, task, { type: 'START', now: turn.now, report: reportOf(task, message, 'start') });
  },
};
