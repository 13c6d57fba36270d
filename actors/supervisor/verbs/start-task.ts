import { accepted, admitReport, illegal } from '../reports.ts';
import type { Verb } from '../verb.ts';

export const startTask: Verb<'start_task'> = {
  needs: ({ task_id, worker_id }) => ({ tasks: [task_id], workers: [worker_id] }),
  run(message, { turn }) {
    const { task, repeated } = admitReport(turn, message, 'start');
    if (repeated) return repeated;
    const report = accepted(task, message, 'start', { ok: true });
    if (!turn.tellTask(task, { type: 'START', now: turn.now, report })) throw illegal(task, 'started');
    return report.answer;
  },
};
