import type { EventView } from '../../machines/schema/views.ts';
import { clock, dateTime } from './format.ts';
import type { Colours } from './output.ts';
import { plain, plainLines } from './plain.ts';

const DAY = 86_400;

/**
 * The lines of one event in a log. What a run printed stands as it is; what the service notes about it is dim,
 * warnings and errors in their colours.
 * @param label which task, or undefined where there is only one
 * @param now seconds since the epoch; events of other days show their date
 */
export function eventLines(
  event: EventView,
  label: string | undefined,
  now: number,
  colours: Colours,
): string[] {
  const time = Math.abs(now - event.ts) < DAY / 2 ? clock(event.ts) : dateTime(event.ts);
  const head = `${colours.dim(time)} ${label === undefined ? '' : `${colours.cyan(plain(label))} `}`;
  if (event.type === 'log') {
    return plainLines(event.message).map((line) => `${head}${colours.dim('|')} ${line}`);
  }
  const paint =
    event.level === 'error' ? colours.red : event.level === 'warning' ? colours.yellow : colours.dim;
  return [`${head}${paint(`${plain(event.type)}${spoken(event)}`)}`];
}

function spoken(event: EventView): string {
  const { progress } = event.data;
  const share = typeof progress === 'number' ? ` ${Math.round(progress * 100)}%` : '';
  return `${share}${event.message ? `  ${plain(event.message)}` : ''}`;
}

const MOVES: Readonly<Record<string, string>> = {
  task_started: 'started',
  task_completed: 'succeeded',
  task_failed: 'failed',
  task_lost: 'lost',
  task_cancelled: 'cancelled',
  job_cancel_requested: 'cancelling',
  job_retried: 'retried',
};

/** One line for an event that moves a task or its job, or undefined for all others. */
export function moveLine(event: EventView, label: string | undefined, colours: Colours): string | undefined {
  const word = MOVES[event.type];
  if (word === undefined) return undefined;
  const padded = word.padEnd(10);
  const paint =
    event.type === 'task_completed'
      ? colours.green
      : event.type === 'task_failed' || event.type === 'task_lost'
        ? colours.red
        : colours.cyan;
  const again = event.data.requeued === true ? ' (will be tried again)' : '';
  const why = event.level === 'error' || event.level === 'warning' ? `  ${plain(event.message)}` : '';
  return `${colours.dim(clock(event.ts))} ${paint(padded)} ${plain(label ?? '')}${why}${again}`.trimEnd();
}
