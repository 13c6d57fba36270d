import { WAITING_SENTENCES, waitingWords } from '../../machines/matching/waiting-words.ts';
import type { TaskView } from '../../machines/schema/views.ts';
import { counted } from './format.ts';
import { plain } from './plain.ts';

type Queued = Pick<TaskView, 'status' | 'waiting_for'>;

/**
 * Why queued tasks are not running, a line for all that wait for the same; none where nothing is known to keep
 * them, as right before they are leased.
 * @param workersAlive live workers of the whole cluster
 * @param isPart whether there may be more tasks that wait than those
 */
export function waitingLines(tasks: readonly Queued[], workersAlive: number, isPart = false): string[] {
  const waits = (count: number) =>
    `${isPart ? 'at least ' : ''}${counted(count, 'queued task')} ${count === 1 ? 'waits' : 'wait'}`;
  const queued = tasks.filter((task) => task.status === 'queued');
  if (queued.length === 0) return [];
  if (workersAlive === 0) {
    return [`${waits(queued.length)}: ${WAITING_SENTENCES.no_worker}`];
  }
  const reasons = new Map<string, number>();
  for (const task of queued) {
    const reason = reasonOf(task.waiting_for, workersAlive);
    if (reason !== '') reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  return [...reasons].map(([reason, count]) => `${waits(count)}: ${reason}`);
}

function reasonOf(waiting: TaskView['waiting_for'], workersAlive: number): string {
  if (waiting.length === 0) return '';
  if (waiting.some(({ requirement }) => requirement === 'backoff')) return WAITING_SENTENCES.backoff;
  const busy = waiting.some(({ requirement }) => requirement === 'slots');
  const lacks = waiting
    .filter(({ requirement }) => requirement !== 'slots')
    .map(({ requirement, workers_missing }) => ({
      words: waitingWords(plain(requirement)),
      workers_missing,
    }));
  const none = lacks.filter(({ workers_missing: n }) => n >= workersAlive);
  // What nobody has keeps the task, whatever else some lack.
  if (none.length > 0) return none.map(({ words }) => words.none).join('; ');
  const workers = counted(workersAlive, 'worker');
  const some = lacks
    .map(({ words, workers_missing: n }) =>
      words.some === null ? words.none : `${n} of ${workers} ${words.some}`,
    )
    .join('; ');
  if (busy) return `${WAITING_SENTENCES.busy}${some === '' ? '' : ` (${some})`}`;
  const isAbout = lacks.some(({ words }) => words.about);
  return `${isAbout ? WAITING_SENTENCES.blocked : WAITING_SENTENCES.unmet} (${some})`;
}
