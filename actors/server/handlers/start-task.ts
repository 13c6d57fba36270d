import { admitReport, reportOf, tellReport } from './fencing.ts';
import type { Handler } from './handler.ts';

export const startTask: Handler<'start_task'> = {
  preload: ({ task_id, worker_id }) => ({ tasks: [task_id], workers: [worker_id] }),
  handle(message, { turn }) {
    const { task, repeated } = admitReport(turn, message, 'start');
    if (repeated) return repeated;
    return tellReport(turn, task, { type: 'START', now: turn.now, report: reportOf(task, message, 'start') });
  },
};
