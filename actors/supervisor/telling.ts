import { isHeld, type TaskEvent } from '../../machines/task.ts';
import type { JobRow } from '../store/rows.ts';
import type { JobAddress, TaskAddress } from './address.ts';
import { answersFor } from './reuse.ts';
import { inSteps, withBreaks } from './steps.ts';
import type { Turn } from './turn.ts';
import { PARKED } from './verb.ts';
import { isTelling, type Wish } from './wishes.ts';
import type { Span } from './withheld.ts';

/**
 * What the tasks of a job are told in its present state, and the statuses of those that have not been told yet. What
 * those are told that may be answered with a result is found out for each slice.
 */
function wishOf({ status, state, retry_attempts }: JobRow): { statuses: string[]; events: TaskEvent[] } {
  const retry = { type: 'RETRY', extra_attempts: retry_attempts } as const;
  const cancel = { type: 'CANCEL' } as const;
  if (state === 'telling') return { statuses: ['queued'], events: [cancel] };
  if (state === 'reusing') return { statuses: ['queued'], events: [] };
  if (status === 'queued') return { statuses: ['failed'], events: [retry] };
  // A retry that was cancelled before all were queued again ends as if it had come to its end first.
  return { statuses: ['failed', 'queued'], events: [retry, cancel] };
}

/**
 * The job has taken up a wish of a person: its tasks are told, a slice at once, and the others in further turns,
 * between which other messages are taken. From the first commit on it is certain, whatever happens, and none of the
 * job's tasks is leased before all have been told.
 * @param chosen numbers of the tasks that it is about, in order; null: all that are in the right state
 */
export async function beginTelling(
  turn: Turn,
  job: JobAddress,
  chosen: readonly number[] | null = null,
): Promise<void> {
  const { wishes } = turn.core;
  if (wishes.of(job.id)) {
    // A retry was going on: what is told changes, and its next slice comes by itself.
    wishes.set(turn, job.id, { told: 0 });
    return;
  }
  wishes.set(turn, job.id, { chosen });
  await tellSlice(turn, job);
}

/** The same in further turns alone: a new job of so many tasks has its numbers already. */
export function tellLater(turn: Turn, job: JobAddress, span: Span): void {
  const { wishes, queue, goOn } = turn.core;
  wishes.set(turn, job.id, { span });
  queue.withhold(turn, span);
  turn.afterCommit(() => goOn(job.id));
}

/** The answer to who asked: at once where all have been told, else when they have been, or when the store fails. */
export function whenAllTold(
  turn: Turn,
  job_id: string,
  answer: (reply: { job_id: string }) => void,
): { job_id: string } | typeof PARKED {
  const wish = turn.core.wishes.of(job_id);
  if (!wish) return { job_id };
  wish.waiting.add(turn, () => answer({ job_id }));
  return PARKED;
}

/** One more slice, as a part of the turn. */
export async function goOnTelling(turn: Turn, jobId: string): Promise<void> {
  const { core } = turn;
  await core.registry.fetchJobs(turn.pins, new Set([jobId]));
  const job = core.registry.jobs.get(jobId);
  if (job && core.wishes.of(jobId)) await tellSlice(turn, job);
}

async function tellSlice(turn: Turn, job: JobAddress): Promise<void> {
  const { wishes, registry, settings } = turn.core;
  const { events, statuses } = wishOf(job.row);
  // Several jobs share what a turn has time for.
  const room = Math.min(Math.ceil(settings.sliceSize / wishes.size), settings.sliceSize - turn.told);
  const { told, chosen } = wishes.of(job.id) as Wish;
  const held = registry.tasksOf(job.id).filter(({ row }) => isHeld(row) && row.state !== 'stopping');
  const others =
    room >= held.length
      ? await registry.nextOf(turn.pins, job.id, {
          ...{ statuses, after: told, most: room - held.length + 1 },
          among: job.row.state === 'requeuing' ? chosen : null,
        })
      : [];
  const tasks = [...held, ...others].slice(0, Math.max(0, room));
  const answers = job.row.state === 'reusing' ? await answersFor(turn, job, tasks) : null;
  const now = answers ? tasks.slice(0, answers.looked) : tasks;
  turn.told += now.length;
  await inSteps(
    withBreaks(now, (task) => {
      const answer = answers?.events.get(task);
      for (const event of answer ? [answer] : events) turn.tellTask(task, event);
      // Of very many, their actors are not kept until the turn is over; rows they are.
      task.letGo();
    }),
  );
  if (now.length === held.length + others.length) {
    endTelling(turn, job);
    return;
  }
  const last = others[now.length - held.length - 1];
  await continueLater(turn, job, last === undefined ? told : last.row.seq);
}

async function continueLater(turn: Turn, job: JobAddress, told: number): Promise<void> {
  const { wishes, queue, registry, goOn } = turn.core;
  const { span: known, chosen } = wishes.of(job.id) as Wish;
  const span = known ?? (await registry.spanOf(job.id));
  if (known === null) {
    queue.withhold(turn, span);
    if (job.row.state === 'requeuing') turn.choices.push({ job_id: job.id, chosen });
  }
  wishes.set(turn, job.id, { told, span });
  turn.afterCommit(() => goOn(job.id));
}

function endTelling(turn: Turn, job: JobAddress): void {
  const { wishes, queue } = turn.core;
  const wish = wishes.of(job.id);
  wishes.delete(turn, job.id);
  if (wish?.span) {
    queue.release(turn, wish.span);
    turn.queuedAny = true;
  }
  turn.tellJob(job, { type: 'ALL_TOLD' });
  for (const answer of wish?.waiting ?? []) turn.afterCommit(answer);
}

/**
 * Whatever happens to a task of a job that is being cancelled happens after it was cancelled, although its slice may
 * not have come yet.
 * @returns whether that changed anything
 */
export function tellAhead(turn: Turn, task: TaskAddress): boolean {
  if (turn.core.wishes.size === 0) return false;
  const job = turn.core.registry.jobs.get(task.row.job_id);
  if (job?.row.status !== 'cancelling' || !isTelling(job.row)) return false;
  return turn.tellTask(task, { type: 'CANCEL' });
}
