import { isBulkRunning } from '../../../machines/job/steps.ts';
import { isHeld, type TaskEvent } from '../../../machines/task/task.ts';
import { WAITING } from '../handlers/handler.ts';
import type { JobCell, TaskCell } from '../runtime/actor-cell.ts';
import { type BulkCommand, NO_BULK } from '../runtime/soft-state.ts';
import type { Span } from '../scheduling/withheld.ts';
import type { JobRow } from '../store/rows.ts';
import { FOR_GOOD, JournaledSet } from '../turn/journal.ts';
import { inSteps, withBreaks } from '../turn/steps.ts';
import type { Turn } from '../turn/turn.ts';
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
  if (job.soft.bulk) {
    // A retry was going on: what is told changes, and its next slice comes by itself.
    note(turn, job, { reached: 0 });
    return;
  }
  await nextSlice(turn, job, note(turn, job, { chosen }));
}

/** The same in further turns alone: a new job of so many tasks has its numbers already. */
export function beginBulkLater(turn: Turn, job: JobCell, span: Span): void {
  turn.core.queue.index.withhold(turn, span);
  inNextTurn(turn, job, { span });
}

/** Notes how far the command is. */
function note(turn: Turn, job: JobCell, change: Partial<BulkCommand>): BulkCommand {
  const begun = job.soft.bulk ?? { reached: 0, chosen: null, span: null, waiting: new JournaledSet() };
  const bulk = { ...begun, ...change };
  job.update(turn, { bulk });
  return bulk;
}

/** It goes on in a turn of its own, from there. */
export function inNextTurn(turn: Turn, job: JobCell, change: Partial<BulkCommand>): void {
  note(turn, job, change);
  turn.next.push({ kind: 'deadline', key: `slice:${job.id}` });
}

/** The answer to who asked: at once where all have been told, else when they have been, or when the store fails. */
export function whenBulkDone(
  turn: Turn,
  job_id: string,
  answer: (reply: { job_id: string }) => void,
): { job_id: string } | typeof WAITING {
  const bulk = turn.findJob(job_id)?.soft.bulk;
  if (!bulk) return { job_id };
  bulk.waiting.add(turn, () => answer({ job_id }));
  return WAITING;
}

/**
 * Answers all who wait, before the end: the store fails or the server stops, and what they asked for is certain
 * although it is not done yet.
 */
export function answerAll(jobs: Iterable<JobCell>): void {
  for (const { soft } of jobs) {
    for (const answer of soft.bulk?.waiting ?? []) answer();
    soft.bulk?.waiting.clear(FOR_GOOD);
  }
}

/** One more slice, as a part of the turn. */
export async function continueBulk(turn: Turn, jobId: string): Promise<void> {
  await turn.core.directory.fetchJobs(turn.references, new Set([jobId]));
  const job = turn.findJob(jobId);
  if (job?.soft.bulk) await nextSlice(turn, job, job.soft.bulk);
}

async function nextSlice(turn: Turn, job: JobCell, bulk: BulkCommand): Promise<void> {
  const { directory, settings } = turn.core;
  const { reached, chosen } = bulk;
  const { events, statuses } = eventsFor(job.row);
  // Several jobs share what a turn has time for.
  const commands = [...directory.jobs.values()].filter(({ soft }) => soft.bulk !== null).length;
  const room = Math.min(Math.ceil(settings.sliceSize / commands), settings.sliceSize - turn.bulkDone);
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
    endBulk(turn, job, bulk);
    return;
  }
  const last = others[now.length - held.length - 1];
  const span = bulk.span ?? (await directory.spanOf(job.id));
  if (bulk.span === null) {
    turn.core.queue.index.withhold(turn, span);
    if (job.row.state === 'requeuing') turn.choices.push({ job_id: job.id, chosen });
  }
  inNextTurn(turn, job, { reached: last === undefined ? reached : last.row.seq, span });
}

function endBulk(turn: Turn, job: JobCell, { span, waiting }: BulkCommand): void {
  job.update(turn, NO_BULK);
  if (span) {
    turn.core.queue.index.release(turn, span);
    turn.hasQueued = true;
  }
  turn.tellJob(job, { type: 'BULK_DONE' });
  for (const answer of waiting) turn.afterCommit(answer);
}

/**
 * A task of a job that is being cancelled is cancelled before anything else happens to it, although its slice may
 * not have come yet.
 * @returns whether that changed anything
 */
export function cancelAhead(turn: Turn, task: TaskCell): boolean {
  const job = turn.findJob(task.row.job_id);
  if (job?.row.status !== 'cancelling' || !isBulkRunning(job.row)) return false;
  return turn.tellTask(task, { type: 'CANCEL' });
}
