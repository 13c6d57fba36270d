import { isBulkRunning } from '../../../machines/job/steps.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { Principal } from '../../../machines/protocol/rights.ts';
import { hasEnded } from '../../../machines/schema/statuses.ts';
import { isHeld } from '../../../machines/task/task.ts';
import type { TaskCell } from '../runtime/actor-cell.ts';
import type { EventDraft } from '../turn/event-drafts.ts';
import type { Turn } from '../turn/turn.ts';
import { takeBack } from './drain-worker.ts';
import type { Handler } from './handler.ts';

/** Cancels one task; the job goes on with the others. One that has ended stays as it is. */
export const cancelTask: Handler<'cancel_task'> = {
  preload: ({ task_id }) => ({ tasks: [task_id] }),
  handle({ principal, task_id }, { turn }) {
    const task = turn.task(task_id);
    if (!hasEnded(task.row.status) && task.row.state !== 'stopping') {
      assertFree(turn, task);
      note(turn, task, principal, {
        type: 'task_cancel_requested',
        message: `cancellation requested by ${principal.name}`,
      });
      turn.tellTask(task, { type: 'CANCEL' });
    }
    return movedTo(task);
  },
};

/** Takes a task back from the worker that has it, for whoever asks next. */
export const requeueTask: Handler<'requeue_task'> = {
  preload: ({ task_id }) => ({ tasks: [task_id] }),
  handle({ principal, task_id }, { turn }) {
    const task = turn.task(task_id);
    assertFree(turn, task);
    const { status, state } = task.row;
    if (!isHeld(task.row) || state === 'stopping') {
      const ended = status === 'failed' ? '; what failed is queued again by a retry of its job' : '';
      const word = state === 'stopping' ? 'being cancelled' : status;
      throw new ClusterError(
        'illegal_transition',
        `task ${task_id} is ${word}, and no worker can give it back${ended}`,
      );
    }
    note(turn, task, principal, {
      type: 'task_requeue_requested',
      message: `taken from its worker by ${principal.name}`,
    });
    takeBack(turn, task);
    return movedTo(task);
  },
};

/** While all tasks of a job are told something, none of them is told anything by itself. */
function assertFree(turn: Turn, { row }: TaskCell): void {
  const job = turn.job(row.job_id);
  if (job.row.status !== 'cancelling' && !isBulkRunning(job.row)) return;
  throw new ClusterError(
    'illegal_transition',
    `job ${job.id} is ${job.row.status}, and its tasks are just being told so; try again when that is over`,
  );
}

function note(
  turn: Turn,
  { id, row }: TaskCell,
  { name }: Principal,
  draft: Pick<EventDraft, 'type' | 'message'>,
): void {
  turn.event(
    { job_id: row.job_id, task_id: id, worker_id: row.worker_id },
    { level: 'warning', ...draft, data: { principal: name, status: row.status } },
  );
}

const movedTo = ({ id, row: { job_id, status } }: TaskCell) => ({ task_id: id, job_id, status });
