import { hasEnded } from '../../../machines/schema/statuses.ts';
import type { EventView, JobView } from '../../../machines/schema/views.ts';
import type { Session } from '../../cli/client-command.ts';
import { type Deadline, withDeadline } from '../../cli/deadline.ts';
import { EXIT } from '../../cli/exit.ts';
import { changeLine } from '../../terminal/event-line.ts';
import { counted, duration } from '../../terminal/format.ts';
import { outliveReader } from '../../terminal/lost-output.ts';
import { plain } from '../../terminal/plain.ts';
import { Progress } from '../../terminal/progress.ts';
import { printJob } from '../print-job.ts';
import { followJob } from './follow.ts';
import { RemainingTime } from './remaining-time.ts';
import { MAX_NAMED, TaskBoard, taskLabels } from './task-board.ts';
import { WaitingReasons } from './waiting-reasons.ts';

export interface WatchOptions {
  /** Time limit in seconds; undefined for none. */
  seconds?: number | undefined;
  /** Whether a job that succeeded with failed tasks is a success. */
  allowFailed?: boolean;
}

/**
 * Waits until a job has ended, whatever the end, with a progress bar and a line for each move; then prints the
 * job. The exit code tells the end: 0 only for success of all tasks.
 */
export async function watchJob(session: Session, job: JobView, options: WatchOptions = {}): Promise<number> {
  const { seconds, allowFailed } = options;
  const { output } = session;
  outliveReader();
  const { ended, exit } = await withDeadline(seconds, async (deadline) => ({
    ended: await followToEnd(session, job, deadline).catch((error) => {
      if (deadline.exit !== undefined) return null;
      throw error;
    }),
    exit: deadline.exit,
  }));
  if (ended !== null) {
    if (!output.json && !hasEnded(job.status)) output.note('');
    await printJob(session, job.id);
    if (ended.status !== 'succeeded') return EXIT.failed;
    return ended.aggregate.num_failed === 0 || allowFailed ? EXIT.done : EXIT.partial;
  }
  const why = exit === EXIT.timeout ? `not ended after ${duration(seconds ?? 0)}` : 'interrupted';
  output.note(`${why}; ${plain(job.id)} goes on`);
  output.note(output.noteColours.dim(`come back with: jqctl wait ${plain(job.id)}`));
  if (exit === EXIT.timeout && output.json) await printJob(session, job.id);
  return exit ?? EXIT.interrupted;
}

async function followToEnd(session: Session, job: JobView, { signal }: Deadline): Promise<JobView | null> {
  const { client, output } = session;
  if (hasEnded(job.status)) return job;
  let labels = await labelsOf(session, job, signal);
  const board = new TaskBoard(job.aggregate.num_tasks);
  const progress = new Progress(output, board.total, '', Math.max(0, Date.now() / 1000 - job.created_at));
  const onRetry = (why: string, s: number) =>
    progress.line(output.noteColours.yellow(`${plain(why)}; trying again in ${duration(s)}`));
  const reasons = new WaitingReasons(session, job, board, (line) =>
    progress.line(output.noteColours.yellow(line)),
  );
  const remaining = new RemainingTime(session, job.id, () => show());
  const show = () => progress.update(board.done, stateOf(board, remaining.words), board.total);
  try {
    if (job.status === 'queued' && (await client.call('getStats', { signal })).workers_alive === 0) {
      progress.line(output.noteColours.yellow('no worker is alive yet; start one with: jq-worker'));
    }
    reasons.start();
    remaining.start();
    const events = followJob({ client, jobId: job.id, signal, onRetry });
    for (;;) {
      const next = await events.next();
      if (next.done) return next.value;
      const { event } = next.value;
      if (event.type === 'variants_found' || event.type === 'variant_selected') {
        // By now the end of the job has been recorded.
        const now = await client.call('getJob', { params: { id: job.id }, signal });
        board.grow(now.aggregate.num_tasks);
        labels = await labelsOf(session, now, signal);
      }
      board.apply(event);
      // What happened before this command began is history, not news.
      const line = event.ts < job.updated_at ? undefined : lineFor(event, labels, output.noteColours);
      if (line !== undefined) progress.line(line);
      show();
    }
  } finally {
    remaining.stop();
    reasons.stop();
    progress.stop();
  }
}

async function labelsOf(
  { client }: Session,
  job: JobView,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  if (job.aggregate.num_tasks > MAX_NAMED) return new Map();
  return taskLabels(await client.call('listJobTasks', { params: { id: job.id }, signal }));
}

const lineFor = (event: EventView, labels: Map<string, string>, colours: Session['output']['noteColours']) =>
  changeLine(
    event,
    event.task_id === null ? undefined : (labels.get(event.task_id) ?? event.task_id),
    colours,
  );

function stateOf(board: TaskBoard, remaining: string): string {
  const running = board.count('running') + board.count('leased');
  const failed = board.count('failed');
  return [
    `${board.ended}/${counted(board.total, 'task')}`,
    running > 0 && `${running} running`,
    failed > 0 && `${failed} failed`,
    remaining,
  ]
    .filter(Boolean)
    .join(', ');
}
