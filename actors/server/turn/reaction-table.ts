import type { JobEmission } from '../../../machines/job/job.ts';
import { withoutStart, withRunTime, withStart } from '../../../machines/job/run-times.ts';
import { jobEventFor } from '../../../machines/job/steps.ts';
import { hasEnded } from '../../../machines/schema/statuses.ts';
import type { LeaseEnd, TaskEmission } from '../../../machines/task/task.ts';
import type { CountedKind } from '../counters.ts';
import {
  beginLease,
  beginTimeout,
  endDeadlines,
  endDoubt,
  releaseWaitingLeases,
  takesBackAt,
} from '../handlers/liveness.ts';
import { measureQueue, measureRun } from '../metrics/measure.ts';
import { notificationOf } from '../notify/notification-of.ts';
import type { JobCell, TaskCell, WorkerCell } from '../runtime/actor-cell.ts';
import { isEnding } from '../scheduling/ends.ts';
import { dequeue, enqueue } from '../scheduling/queueing.ts';
import type { JobRow, TaskRow } from '../store/rows.ts';
import {
  describeJobEvent,
  describeTaskEvent,
  describeWorkerEvent,
  type TaskEventEmission,
  type WorkerEventEmission,
  wantsRefit,
} from './event-drafts.ts';
import type { Moved, ReactionTable } from './reactions.ts';
import type { Turn } from './turn.ts';

type LeaseEnded = Extract<TaskEmission, { type: 'lease_ended' }>;

/**
 * What follows from what the actors say happened, as a part of the same turn and in this order. Machines do not know
 * each other, and nothing else reacts to them.
 */
export const REACTIONS: ReactionTable<Turn> = {
  task: {
    lease_started: [beginLease, takeSlot],
    lease_ended: [endDeadlines, freeShare, freeSlot, keepEnd, revoke],
    stop_requested: [requestStop],
    task_leased: [recordTaskEvent, notifyJob, measureQueue],
    task_started: [beginTimeout, recordTaskEvent, notifyJob, keepStart],
    task_completed: [recordTaskEvent, notifyJob, keepRunTime, measureRun],
    task_reused: [recordTaskEvent, notifyJob],
    task_failed: [recordTaskEvent, notifyJob, keepRunTime, measureRun],
    task_lost: [recordTaskEvent],
    task_requeued: [recordTaskEvent, notifyJob],
    task_cancelled: [recordTaskEvent, notifyJob],
    moved: [count('tasks'), updateQueue],
  },
  job: {
    job_running: [recordJobEvent],
    job_succeeded: [recordEnd],
    job_failed: [recordEnd],
    job_cancelled: [recordEnd],
    job_retried: [recordJobEvent],
    variants_found: [recordJobEvent],
    variant_selected: [recordJobEvent, orderRefit],
    selection_failed: [recordJobEvent],
    refit_queued: [recordJobEvent],
    moved: [count('jobs'), forgetTimes],
  },
  worker: {
    polling_ended: [releaseWaitingLeases],
    worker_registered: [recordWorkerEvent, wake, reviewWaiting],
    worker_dead: [recordWorkerEvent, reviewWaiting],
    worker_alive: [recordWorkerEvent, wake, reviewWaiting],
    worker_suspended: [recordWorkerEvent],
    worker_resumed: [recordWorkerEvent],
    worker_draining: [recordWorkerEvent],
    // It said so itself: no need to wait until heartbeats are missed.
    worker_stopped: [recordWorkerEvent, stopDeadTimer, reviewWaiting],
    worker_drain_ordered: [recordWorkerEvent, followOrder],
    worker_drained: [recordWorkerEvent],
    worker_drain_lifted: [recordWorkerEvent, followOrder, wake],
    worker_removed: [recordWorkerEvent, forgetWorker, reviewWaiting],
    moved: [countWorker],
  },
};

function recordTaskEvent(turn: Turn, { id, row }: TaskCell, said: TaskEventEmission, before: TaskRow): void {
  const worker_id = row.worker_id ?? before.worker_id;
  turn.event({ job_id: row.job_id, task_id: id, worker_id }, describeTaskEvent(row, said));
}

function notifyJob(turn: Turn, { id, row }: TaskCell, said: TaskEmission, before: TaskRow): void {
  const event = jobEventFor(said, { id, from: before.status, payload: row.payload });
  if (event) turn.tellJob(turn.job(row.job_id), event, id);
}

/* What is left of a job is expected to take as long as what has ended, or goes on (machines/job/run-times.ts). */

function keepStart(turn: Turn, { row }: TaskCell): void {
  const job = turn.job(row.job_id);
  job.amend(turn, { run_times: withStart(job.row.run_times, turn.now - job.row.created_at) });
}

function keepEnd(turn: Turn, { row }: TaskCell, _: unknown, { status, started_at }: TaskRow): void {
  if (status !== 'running') return;
  const job = turn.job(row.job_id);
  const { created_at, run_times } = job.row;
  job.amend(turn, { run_times: withoutStart(run_times, (started_at ?? created_at) - created_at) });
}

/** To find out what is to be run says nothing of how long that takes. */
function keepRunTime(turn: Turn, { row }: TaskCell, _: unknown, { started_at }: TaskRow): void {
  if (!hasEnded(row.status) || started_at === null || row.payload.role === 'expansion') return;
  const job = turn.job(row.job_id);
  job.amend(turn, { run_times: withRunTime(job.row.run_times, Math.max(0, turn.now - started_at)) });
  timeJob(turn, job, row);
}

/** Where less time turns out to suffice, it may for a worker that waits. */
function timeJob(turn: Turn, job: JobCell, row: TaskRow): void {
  const { queue, longPolls, clock } = turn.core;
  const before = queue.times.moment;
  queue.timeJob(turn, job.row, row);
  if (queue.times.moment === before || queue.index.size === 0) return;
  for (const { worker_id } of longPolls.leases()) {
    const worker = turn.findWorker(worker_id);
    if (worker && isEnding(worker.row, clock)) turn.wokenWorkers.add(worker_id);
  }
}

/** Nothing of it is queued any more. */
function forgetTimes(turn: Turn, { row }: JobCell, { to }: Moved): void {
  if (hasEnded(to as JobRow['status'])) turn.core.queue.times.forget(turn, row.seq);
}

function recordJobEvent(turn: Turn, { id, row }: JobCell, said: JobEmission): void {
  turn.event({ job_id: id }, describeJobEvent(row, said));
}

/** The receiver of notifications, if there is one, is told of it, however long that takes. */
function recordEnd(turn: Turn, { id, row }: JobCell, said: JobEmission): void {
  const event = turn.event({ job_id: id }, describeJobEvent(row, said));
  if (turn.core.settings.notifies) turn.notifications.push(notificationOf(row, event));
}

function recordWorkerEvent(turn: Turn, { id, row }: WorkerCell, said: WorkerEventEmission): void {
  turn.event({ worker_id: id }, describeWorkerEvent(row, said));
}

function count(kind: CountedKind) {
  return (turn: Turn, _: unknown, { from, to }: Moved) => turn.counts.move(kind, from, to);
}

/** One that was removed is nowhere. */
function countWorker(turn: Turn, _: unknown, { from, to }: Moved): void {
  turn.counts.move('workers', from, to === 'removed' ? null : to);
}

/** What is leased was taken out of the index by who picked it. */
function updateQueue(turn: Turn, { row }: TaskCell, { from, to }: Moved): void {
  if (to === 'queued') enqueue(turn, row);
  else if (from === 'queued' && to !== 'leased') dequeue(turn, row);
}

function takeSlot(turn: Turn, task: TaskCell, { worker_id }: { worker_id: string }): void {
  turn.leased.add(task);
  const worker = turn.findWorker(worker_id);
  if (worker) turn.tellWorker(worker, { type: 'TASK_TAKEN' }, task.id);
}

/** Its owner has one task less under way, which may let others of theirs go. */
function freeShare(turn: Turn, { row }: TaskCell): void {
  const { gates, requirements } = turn.core.queue;
  if (gates.ended(turn, requirements.laneOf(row.requirement_id))) turn.hasQueued = true;
}

function freeSlot(turn: Turn, task: TaskCell, { worker_id }: { worker_id: string }): void {
  const worker = turn.findWorker(worker_id);
  if (!worker) return;
  worker.held.delete(turn, task);
  turn.tellWorker(worker, { type: 'TASK_RELEASED' }, task.id);
  // What it asked for before, it can have now: with a free slot nothing is doubtful.
  if (worker.row.slots_used < worker.row.slots_total) endDoubt(turn, worker);
  turn.wokenWorkers.add(worker.id);
}

/** Whether a worker knows why it holds a task no more. In every other case it must be told to stop. */
const KNOWN_TO_WORKER: Readonly<Record<LeaseEnd, boolean>> = {
  reported: true,
  undelivered: true,
  expired: false,
  cancelled: false,
  timed_out: false,
  taken_back: false,
};

function revoke(turn: Turn, { id }: TaskCell, { worker_id, why }: LeaseEnded): void {
  const worker = turn.findWorker(worker_id);
  if (!worker || KNOWN_TO_WORKER[why]) return;
  worker.revoked.add(turn, id);
  // Also where this very turn leases it to the same worker anew: the earlier attempt is to stop all the same.
  const others = turn.mustStop.get(worker);
  if (others) others.push(id);
  else turn.mustStop.set(worker, [id]);
}

function requestStop(turn: Turn, { row }: TaskCell): void {
  const worker = turn.findWorker(row.worker_id as string);
  if (worker) turn.mustStop.set(worker, turn.mustStop.get(worker) ?? []);
}

function orderRefit(turn: Turn, job: JobCell, said: JobEmission): void {
  if (wantsRefit(said)) turn.selecting.add(job);
}

function wake(turn: Turn, { id }: WorkerCell): void {
  turn.wokenWorkers.add(id);
}

/** Of what waits, some may be left without a worker, or wait for no other than one that lacks a path. */
function reviewWaiting(turn: Turn): void {
  turn.reviewWaiting = true;
}

function forgetWorker(turn: Turn, worker: WorkerCell): void {
  turn.core.directory.forgetWorker(turn, worker);
}

/** When the time of its order is over, it gives back what it still has. */
function followOrder(turn: Turn, worker: WorkerCell): void {
  worker.update(turn, { takesBackAt: takesBackAt(turn, worker.row.drained) });
}

function stopDeadTimer(turn: Turn, worker: WorkerCell): void {
  worker.update(turn, { deadAt: null });
}
