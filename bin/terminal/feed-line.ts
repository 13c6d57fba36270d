import type { EventView } from '../../machines/schema/views.ts';
import { reportText } from './event-line.ts';
import { clock, dateTime } from './format.ts';
import type { Colours } from './output.ts';
import { plain, plainLines } from './plain.ts';

const DAY = 86_400;
/** What the service itself notes; its messages are sentences that name what they are about. */
const OWN = /^(job|task|worker)_|^(version_divergence|pipeline_fingerprint_mismatch)$/;

/**
 * The lines of one event in the feed of everything, where each says which job or worker it is about.
 * @param now seconds since the epoch; events of other days show their date
 */
export function feedLines(event: EventView, now: number, colours: Colours): string[] {
  const { dim, cyan } = colours;
  const time = dim(Math.abs(now - event.ts) < DAY / 2 ? clock(event.ts) : dateTime(event.ts));
  const about = event.task_id ?? event.job_id ?? event.worker_id;
  const head = about === null ? time : `${time} ${cyan(plain(about))}`;
  if (event.type === 'log') return plainLines(event.message).map((line) => `${head} ${dim('|')} ${line}`);
  const paint =
    event.level === 'error'
      ? colours.red
      : event.level === 'warning'
        ? colours.yellow
        : (text: string) => text;
  if (!OWN.test(event.type) || !event.message) return [`${head} ${paint(reportText(event))}`];
  const message = plain(event.message);
  // A sentence that names its subject needs no id in front of it.
  const named = about === null || message.includes(plain(about));
  return [named ? `${time} ${paint(message)}` : `${head} ${paint(message.replace(/^task /, ''))}`];
}
