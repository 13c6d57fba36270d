import { isHeld, type TaskEvent } from '../../../machines/task/task.ts';
import { DEFERRED } from '../handlers/handler.ts';
import type { JobCell, TaskCell } from '../runtime/actor-cell.ts';
import type { Span } from '../scheduling/withheld.ts';
import type { JobRow } from '../store/rows.ts';
import { inSteps, withBreaks } from '../turn/steps.ts';
import type { Turn } from '../turn/turn.ts';
import { type BulkCommand, isBulkRunning } from './bulk-commands.ts';
import { answersFor } from './reuse.ts';

/**
 * What the tasks of a job are told in its present state, and the statuses of those that have not been told yet. What
 * those are told that may be answered with a result is found out for each slice.
 */
function eventsFor({ status, state, retry_attempts }: JobRow): { statuses: string[]; events: TaskEvent[] } {
  const retry = { type: 'RETRY', extra_attempts: retry_attempts } as const;
  const cancel = { type: 'CANCEL' } as const;
  if (state === 'telling') return { statuses: ['queued'], events: [cancel] };
  if (state === 'reusing') return { statuses: ['queued'], events: [] };
  if (status === 'queued') return { statuses: ['failed'], events: [retry] };
  // A retry that is cancelled before all tasks were queued again ends as if the retry had finished first.
  return { statuses: ['failed', 'queued'], events: [retry, cancel] };
}

/**
 * Begins a bulk command: the tasks of the job are told, a slice at once, and the others in further turns,
 * between which other messages are taken. From the first commit on it is certain, whatever happens, and none of the
 * job's tasks is leased before all have been told.
 * @param chosen numbers of the tasks that it is about, in order; null: all that are in the right state
 */
export async function beginBulk(
  turn: Turn,
  job: JobCell,
  chosen: readonly number[] | null = null,
): Promise<void> {
  const { bulkCommands } = turn.core;
  if (bulkCommands.of(job.id)) {
    // A retry was going on: what is told changes, and its next slice comes by itself.
    bulkCommands.set(turn, job.id, { reached: 0 });
    return;
  }
  bulkCommands.set(turn, job.id, { chosen });
  await nextSlice(turn, job);
}

/** The same in further turns alone: a new job of so many tasks has its numbers already. */
export function beginBulkLater(turn: Turn, job: JobCell, span: Span): void {
  const { bulkCommands, queue, continueBulk } = turn.core;
  bulkCommands.set(turn, job.id, { span });
  queue.withhold(turn, span);
  turn.afterCommit(() => continueBulk(job.id));
}

/** The answer to who asked: at once where all have been told, else when they have been, or when the store fails. */
export function whenBulkDone(
  turn: Turn,
  job_id: string,
  answer: (reply: { job_id: string }) => void,
): { job_id: string } | typeof DEFERRED {
  const command = turn.core.bulkCommands.of(job_id);
  if (!command) return { job_id };
  command.waiting.add(turn, () => answer({ job_id }));
  return DEFERRED;
}

/** One more slice, as a part of the turn. */
export async function continueBulk(turn: Turn, jobId: string): Promise<void> {
  const { core } = turn;
  await core.directory.fetchJobs(turn.references, new Set([jobId]));
  const job = core.directory.jobs.get(jobId);
  if (job && core.bulkCommands.of(jobId)) await nextSlice(turn, job);
}

async function nextSlice(turn: Turn, job: JobCell): Promise<void> {
  const { bulkCommands, directory, settings } = turn.core;
  const { events, statuses } = eventsFor(job.row);
  // Several jobs share what a turn has time for.
  const room = Math.min(
    Math.ceil(settings.sliceSize / bulkCommands.size),
    settings.sliceSize - turn.bulkDone,
  );
  const { reached, chosen } = bulkCommands.of(job.id) as BulkCommand;
  const held = directory.tasksOf(job.id).filter(({ row }) => isHeld(row) && row.state !== 'stopping');
  const others =
    room >= held.length
      ? await directory.nextOf(turn.references, job.id, {
          ...{ statuses, after: reached, most: room - held.length + 1 },
          among: job.row.state === 'requeuing' ? chosen : null,
        })
      : [];
  const tasks = [...held, ...others].slice(0, Math.max(0, room));
  const answers = job.row.state === 'reusing' ? await answersFor(turn, job, tasks) : null;
  const now = answers ? tasks.slice(0, answers.looked) : tasks;
  turn.bulkDone += now.length;
  await inSteps(
    withBreaks(now, (task) => {
      const answer = answers?.events.get(task);
      for (const event of answer ? [answer] : events) turn.tellTask(task, event);
      // Of very many, their actors are not kept until the turn is over; rows they are.
      task.passivate();
    }),
  );
  if (now.length === held.length + others.length) {
    endBulk(turn, job);
    return;
  }
  const last = others[now.length - held.length - 1];
  await continueLater(turn, job, last === undefined ? reached : last.row.seq);
}

async function continueLater(turn: Turn, job: JobCell, reached: number): Promise<void> {
  const { bulkCommands, queue, directory, continueBulk } = turn.core;
  const { span: known, chosen } = bulkCommands.of(job.id) as BulkCommand;
  const span = known ?? (await directory.spanOf(job.id));
  if (known === null) {
    queue.withhold(turn, span);
    if (job.row.state === 'requeuing') turn.choices.push({ job_id: job.id, chosen });
  }
  bulkCommands.set(turn, job.id, { reached, span });
  turn.afterCommit(() => continueBulk(job.id));
}

function endBulk(turn: Turn, job: JobCell): void {
  const { bulkCommands, queue } = turn.core;
  const command = bulkCommands.of(job.id);
  bulkCommands.delete(turn, job.id);
  if (command?.span) {
    queue.release(turn, command.span);
    turn.hasQueued = true;
  }
  turn.tellJob(job, { type: 'ALL_TOLD' });
  for (const answer of command?.waiting ?? []) turn.afterCommit(answer);
}

/**
 * A task of a job that is being cancelled is cancelled before anything else happens to it, although its slice may
 * not have come yet.
 * @returns whether that changed anything
 */
export function cancelAhead(turn: Turn, task: TaskCell): boolean {
  if (turn.core.bulkCommands.size === 0) return false;
  const job = turn.core.directory.jobs.get(task.row.job_id);
  if (job?.row.status !== 'cancelling' || !isBulkRunning(job.row)) return false;
  return turn.tellTask(task, { type: 'CANCEL' });
}
