import { PREEMPTED } from '../../machines/schema/report.ts';
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
  const text = stateText(event, label) ?? reportText(event);
  const paint =
    event.level === 'error' ? colours.red : event.level === 'warning' ? colours.yellow : colours.dim;
  return [`${head}${paint(text)}`];
}

const WORDS: Readonly<Record<string, string>> = {
  task_leased: 'leased',
  task_started: 'started',
  task_completed: 'succeeded',
  task_reused: 'reused',
  task_failed: 'failed',
  task_lost: 'lost',
  task_requeued: 'queued again',
  task_cancelled: 'cancelled',
  job_cancel_requested: 'cancelling',
  job_retried: 'retried',
};

/** What a job that selects finds out. */
const SELECTS = ['variants_found', 'variant_selected', 'selection_failed'];

/** What happened to a task or a job; undefined for what a worker reports. */
function stateText(event: EventView, label: string | undefined): string | undefined {
  const word = WORDS[event.type];
  if (event.task_id === null || word === undefined) {
    return event.type.startsWith('job_') || SELECTS.includes(event.type)
      ? plain(event.message || event.type)
      : undefined;
  }
  return `${label === undefined ? 'task ' : ''}${word}${reason(event)}`;
}

/** Why it went wrong, and whether it is tried again. */
function reason({ type, message, data }: EventView): string {
  if (type === 'task_requeued' && data.reason === PREEMPTED) return ' (preempted: its worker had to end)';
  const again = data.requeued === true ? ' (will be tried again)' : '';
  if (type !== 'task_failed' && type !== 'task_lost') return again;
  return `: ${plain(typeof data.error === 'string' ? data.error : message)}${again}`;
}

/** What a worker reports: its type, how far it is, and its message. */
export function reportText({ type, message, data }: EventView): string {
  const share = typeof data.progress === 'number' ? ` ${Math.round(data.progress * 100)}%` : '';
  return `${plain(type)}${share}${message ? `  ${plain(message)}` : ''}`;
}

/** Whether a move is worth no line while somebody waits; every task makes at least two. */
const isQuiet = ({ type, data }: EventView): boolean =>
  type === 'task_leased' || (type === 'task_requeued' && data.reason !== PREEMPTED);

/** One line for an event that moves a task or its job, or undefined for all others. */
export function changeLine(
  event: EventView,
  label: string | undefined,
  colours: Colours,
): string | undefined {
  if (SELECTS.includes(event.type)) {
    const paint = event.level === 'error' ? colours.red : colours.green;
    return `${colours.dim(clock(event.ts))} ${paint('selection ')} ${plain(event.message)}`;
  }
  const word = WORDS[event.type];
  if (word === undefined || isQuiet(event)) return undefined;
  const bad = event.type === 'task_failed' || event.type === 'task_lost';
  const good = event.type === 'task_completed' || event.type === 'task_reused';
  const paint = good ? colours.green : bad ? colours.red : colours.cyan;
  const time = colours.dim(clock(event.ts));
  return `${time} ${paint(word.padEnd(10))} ${plain(label ?? '')}${reason(event)}`.trimEnd();
}
