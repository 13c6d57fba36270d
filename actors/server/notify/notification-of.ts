import type { EventRow, JobRow, NotificationRow } from '../store/rows.ts';

/**
 * What the receiver of notifications is told of the end of a job: the event that says so, and the job. It is the payload of
 * [Standard Webhooks](https://www.standardwebhooks.com), as it is sent at each try.
 */
export function notificationOf(job: JobRow, event: EventRow): NotificationRow {
  const { id, type, name, note, tags, status, owner, priority, created_at, updated_at, error } = job;
  const body = {
    type: event.type,
    timestamp: new Date(event.ts * 1000).toISOString(),
    data: {
      job: { id, type, name, note, tags, status, owner, priority, created_at, updated_at, error },
      event,
    },
  };
  return {
    id: event.id,
    job_id: id,
    body: JSON.stringify(body),
    created_at: event.ts,
    attempts: 0,
    error: null,
    next_at: event.ts,
  };
}
