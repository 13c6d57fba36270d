import type { Report } from '../../../gateway/messages.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { Principal } from '../../../machines/protocol/rights.ts';
import { type AcceptedReport, isHeld, type TaskEvent, type TaskReport } from '../../../machines/task/task.ts';
import { cancelAhead } from '../jobs/bulk-command.ts';
import type { TaskCell } from '../runtime/actor-cell.ts';
import type { Turn } from '../turn/turn.ts';
import { ownWorker, touch } from './liveness.ts';

/**
 * Checks who reports on what (docs/semantics.md#reports-and-fencing): 404, 403, then either the answer of the report
 * that this one repeats, or the task that the worker holds.
 * @throws ClusterError `unknown_id`, `not_owner`, `not_holder` or `stale_attempt`
 */
export function admitReport(
  turn: Turn,
  report: Report,
  verb: AcceptedReport['verb'],
): { task: TaskCell; repeated: AcceptedReport['answer'] | null } {
  const task = turn.task(report.task_id);
  const worker = ownWorker(turn, report.principal, report.worker_id);
  touch(turn, worker);
  cancelAhead(turn, task);
  // The worker knows by now: the task needs no further mention in its heartbeats.
  worker.revoked.delete(turn, task.id);
  if (isRepetition(task, report, verb))
    return { task, repeated: task.row.last_report?.answer ?? { ok: true } };
  assertOwn(turn, report.principal, task);
  assertHolder(task, report.worker_id, report.attempt);
  noteActivity(turn, task);
  return { task, repeated: null };
}

/**
 * Checks what moves no state, events and uploads, where naming the worker and the attempt is optional: what is
 * named must be right, and the task's worker must be the principal's.
 * @throws ClusterError `unknown_id`, `not_owner`, `not_holder` or `stale_attempt`
 */
export function admitUpload(
  turn: Turn,
  mention: {
    principal: Principal;
    task_id: string;
    worker_id?: string | undefined;
    attempt?: number | undefined;
  },
): TaskCell {
  const { principal, task_id, worker_id, attempt } = mention;
  const task = turn.task(task_id);
  if (worker_id !== undefined) touch(turn, ownWorker(turn, principal, worker_id));
  assertOwn(turn, principal, task);
  cancelAhead(turn, task);
  assertAttempt(task, attempt);
  if (worker_id !== undefined) assertHolder(task, worker_id, attempt);
  noteActivity(turn, task);
  return task;
}

/** A task that another principal's worker holds, or held last, is none of this principal's business. */
function assertOwn(turn: Turn, principal: Principal, { row }: TaskCell): void {
  if (row.worker_id !== null) ownWorker(turn, principal, row.worker_id);
}

/** The task's own sign of life; the quietest of a worker's tasks is the first to be doubted. */
function noteActivity(turn: Turn, task: TaskCell): void {
  task.update(turn, { lastActivity: turn.core.hearing.monotonic() });
}

function isRepetition(task: TaskCell, report: Report, verb: AcceptedReport['verb']): boolean {
  const last = task.row.last_report;
  if (!last || last.verb !== verb || last.worker_id !== report.worker_id) return false;
  if (report.attempt !== undefined) return last.attempt === report.attempt;
  // Without an attempt, a report of a worker that holds the task anew is about the new lease.
  const holdsAnew =
    isHeld(task.row) && task.row.worker_id === report.worker_id && task.row.attempt > last.attempt;
  return !holdsAnew;
}

function assertAttempt({ row }: TaskCell, attempt: number | undefined): void {
  if (attempt === undefined || attempt === row.attempt) return;
  throw new ClusterError(
    'stale_attempt',
    `task ${row.id} is at attempt ${row.attempt}, the report is for ${attempt}`,
  );
}

function assertHolder(task: TaskCell, workerId: string, attempt: number | undefined): void {
  assertAttempt(task, attempt);
  const { row } = task;
  if (isHeld(row) && row.worker_id === workerId) return;
  throw new ClusterError(
    'not_holder',
    `worker ${workerId} does not hold task ${row.id}, which is ${row.status}`,
  );
}

export function reportOf(task: TaskCell, { worker_id }: Report, verb: TaskReport['verb']): TaskReport {
  return { worker_id, attempt: task.row.attempt, verb };
}

/**
 * The task takes the report.
 * @returns what it is answered with, now and whenever it is repeated
 * @throws ClusterError `illegal_transition`
 */
export function tellReport(
  turn: Turn,
  task: TaskCell,
  event: Extract<TaskEvent, { report: TaskReport }>,
): AcceptedReport['answer'] {
  if (turn.tellTask(task, event)) return (task.row.last_report as AcceptedReport).answer;
  const done = { start: 'started', complete: 'completed', fail: 'failed' }[event.report.verb];
  throw new ClusterError('illegal_transition', `a task that is ${task.row.status} cannot be ${done}`);
}
