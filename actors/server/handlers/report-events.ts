import { ReportedData } from '../turn/event-drafts.ts';
import { admitUpload } from './fencing.ts';
import type { Handler } from './handler.ts';

/** Records what a worker says of a task; it moves no state. */
export const reportEvents: Handler<'report_events'> = {
  preload: ({ task_id, worker_id }) => ({
    tasks: [task_id],
    workers: worker_id === undefined ? [] : [worker_id],
  }),
  handle({ events, ...mention }, { turn }) {
    const task = admitUpload(turn, mention);
    const worker_id = mention.worker_id ?? task.row.worker_id;
    const about = { job_id: task.row.job_id, task_id: task.id, worker_id };
    for (const event of events) turn.event(about, { ...event, data: new ReportedData(event.data) });
    return { ok: true };
  },
};
