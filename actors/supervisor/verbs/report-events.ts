import { ClusterError } from '../../../machines/errors.ts';
import type { ReportedEvent } from '../../../machines/schema/report.ts';
import { hear, ownWorker } from '../life.ts';
import { assertHolder } from '../reports.ts';
import type { Verb } from '../verb.ts';

/** Records what a worker says of a task; it moves no state. */
export const reportEvents: Verb<'report_events'> = {
  needs: ({ task_id }) => ({ tasks: [task_id] }),
  run({ principal, task_id, worker_id, attempt, events }, { turn }) {
    const task = turn.core.registry.task(task_id);
    const holder = worker_id ?? task.row.worker_id;
    if (holder !== null) {
      const worker = ownWorker(turn, principal, holder);
      if (worker_id !== undefined) hear(turn, worker);
    }
    if (worker_id !== undefined) assertHolder(task, worker_id, attempt);
    else if (attempt !== undefined && attempt !== task.row.attempt) {
      throw new ClusterError(
        'stale_attempt',
        `task ${task_id} is at attempt ${task.row.attempt}, the report is for ${attempt}`,
      );
    }
    turn.core.signs.set(task_id, turn.core.clock.monotonic());
    const about = { job_id: task.row.job_id, task_id, worker_id: holder };
    for (const event of events) turn.event(about, telling(event));
    return { ok: true };
  },
};

function telling(event: ReportedEvent) {
  const data = event.progress === undefined ? { ...event.data } : { ...event.data, progress: event.progress };
  return { level: event.level ?? 'info', type: event.type, message: event.message ?? '', data };
}
