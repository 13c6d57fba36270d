import type { Logger } from 'pino';
import type { EventSource, LiveEvent } from '../../gateway/backend.ts';
import { PREEMPTED } from '../../machines/schema/report.ts';
import { ReportedData } from './turn/event-drafts.ts';

/** Characters of a message; an error may have kilobytes, which the event keeps. */
const LONGEST = 1000;

/**
 * Events that are lines for who looks closely only. Of a task that goes well there is none, since jobs have thousands,
 * and what a person asked for is told by the line of the request.
 */
const DETAILS = new Set([
  'job_submitted',
  'job_cancel_requested',
  'job_retried',
  'job_running',
  'task_leased',
  'task_started',
  'task_completed',
  'task_reused',
  'task_requeued',
  'task_cancelled',
  'variants_found',
  'variant_selected',
  'refit_queued',
]);

const LEVELS = { debug: 'debug', info: 'info', warning: 'warn', error: 'error' } as const;

/**
 * Writes of what was committed what an operator asks about later: ends of jobs, failures and losses of tasks, workers
 * that come and go. What workers say of their tasks is in the events alone.
 */
export function logEvents(events: EventSource, log: Logger): void {
  events.subscribe((committed) => {
    for (const event of committed) if (!(event.data instanceof ReportedData)) write(event, log);
  });
}

/** That a worker had to end is not to be seen elsewhere. */
const isGivenBack = (data: LiveEvent['data']): boolean => (data as { reason?: unknown }).reason === PREEMPTED;

function write({ type, level, message, data, ...ids }: LiveEvent, log: Logger): void {
  const { job_id, task_id, worker_id } = ids;
  const as = DETAILS.has(type) && !isGivenBack(data) ? 'debug' : LEVELS[level];
  if (!log.isLevelEnabled(as)) return;
  const about = { ...(job_id && { job_id }), ...(task_id && { task_id }), ...(worker_id && { worker_id }) };
  const text = message.length <= LONGEST ? message : `${message.slice(0, LONGEST)}…`;
  log[as]({ event: type, ...about }, text);
}
