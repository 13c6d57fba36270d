import { boundedEvent } from '../../../machines/report-limits.ts';
import type { ReportedEvent } from '../../../machines/schema/report.ts';
import { admitMention } from '../reports.ts';
import type { Verb } from '../verb.ts';

/** Records what a worker says of a task; it moves no state. */
export const reportEvents: Verb<'report_events'> = {
  needs: ({ task_id }) => ({ tasks: [task_id] }),
  run({ events, ...mention }, { turn }) {
    const task = admitMention(turn, mention);
    const worker_id = mention.worker_id ?? task.row.worker_id;
    const about = { job_id: task.row.job_id, task_id: task.id, worker_id };
    for (const event of events) turn.event(about, telling(boundedEvent(event)));
    return { ok: true };
  },
};

function telling(event: ReportedEvent) {
  const data = event.progress === undefined ? { ...event.data } : { ...event.data, progress: event.progress };
  return { level: event.level ?? 'info', type: event.type, message: event.message ?? '', data };
}
