import type { JobEmission } from '../../machines/job.ts';
import { jobEventFor } from '../../machines/job-steps.ts';
import type { LeaseEnd, TaskEmission } from '../../machines/task.ts';
import type { TaskRow } from '../store/rows.ts';
import type { JobAddress, TaskAddress, WorkerAddress } from './address.ts';
import {
  type TaskEventEmission,
  tellJob,
  tellTask,
  tellWorker,
  type WorkerEventEmission,
  wantsRefit,
} from './emissions.ts';
import { beginLease, beginTimeout, endDeadlines, withdrawLeases } from './life.ts';
import { dequeue, enqueue } from './queueing.ts';
import type { Moved, Routes } from './reactions.ts';
import type { CountedKind } from './tally.ts';
import { tellAhead } from './telling.ts';
import type { Turn } from './turn.ts';

type LeaseEnded = Extract<TaskEmission, { type: 'lease_ended' }>;

/**
 * What follows from what the actors say happened, as a part of the same turn and in this order. Machines do not know
 * each other, and nothing else reacts to them.
 */
export const ROUTES: Routes<Turn> = {
  ahead: tellAhead,
  task: {
    lease_started: [beginLease, takeSlot],
    lease_ended: [endDeadlines, freeSlot, revoke],
    stop_requested: [mentionStop],
    task_leased: [showTask, tellItsJob],
    task_started: [beginTimeout, showTask, tellItsJob],
    task_completed: [showTask, tellItsJob],
    task_reused: [showTask, tellItsJob],
    task_failed: [showTask, tellItsJob],
    task_lost: [showTask],
    task_requeued: [showTask, tellItsJob],
    task_cancelled: [showTask, tellItsJob],
    moved: [count('tasks'), keepInQueue],
  },
  job: {
    job_running: [showJob],
    job_succeeded: [showJob],
    job_failed: [showJob],
    job_cancelled: [showJob],
    job_retried: [showJob],
    variants_found: [showJob],
    variant_selected: [showJob, orderRefit],
    selection_failed: [showJob],
    refit_queued: [showJob],
    moved: [count('jobs')],
  },
  worker: {
    polling_ended: [withdrawLeases],
    worker_registered: [showWorker, wake, judgeWaiting],
    worker_dead: [showWorker, judgeWaiting],
    worker_alive: [showWorker, wake, judgeWaiting],
    worker_suspended: [showWorker],
    worker_resumed: [showWorker],
    worker_draining: [showWorker],
    // Nobody has to wait for its silence.
    worker_stopped: [showWorker, endSilence, judgeWaiting],
    moved: [count('workers')],
  },
};

function showTask(turn: Turn, { id, row }: TaskAddress, said: TaskEventEmission, before: TaskRow): void {
  const worker_id = row.worker_id ?? before.worker_id;
  turn.event({ job_id: row.job_id, task_id: id, worker_id }, tellTask(row, said));
}

function tellItsJob(turn: Turn, { id, row }: TaskAddress, said: TaskEmission, before: TaskRow): void {
  const told = jobEventFor(said, { id, from: before.status, payload: row.payload });
  if (told) turn.tellJob(turn.core.registry.job(row.job_id), told, id);
}

function showJob(turn: Turn, { id, row }: JobAddress, said: JobEmission): void {
  turn.event({ job_id: id }, tellJob(row, said));
}

function showWorker(turn: Turn, { id, row }: WorkerAddress, said: WorkerEventEmission): void {
  turn.event({ worker_id: id }, tellWorker(row, said));
}

function count(kind: CountedKind) {
  return (turn: Turn, _: unknown, { from, to }: Moved) => turn.counts.move(kind, from, to);
}

/** What is leased was taken out of the index by who picked it. */
function keepInQueue(turn: Turn, { row }: TaskAddress, { from, to }: Moved): void {
  if (to === 'queued') enqueue(turn, row);
  else if (from === 'queued' && to !== 'leased') dequeue(turn, row);
}

function takeSlot(turn: Turn, task: TaskAddress, { worker_id }: { worker_id: string }): void {
  turn.leased.add(task);
  const worker = turn.core.registry.workers.get(worker_id);
  if (worker) turn.tellWorker(worker, { type: 'TASK_TAKEN' }, task.id);
}

function freeSlot(turn: Turn, task: TaskAddress, { worker_id }: { worker_id: string }): void {
  const worker = turn.core.registry.workers.get(worker_id);
  if (!worker) return;
  worker.held.delete(turn, task);
  turn.tellWorker(worker, { type: 'TASK_RELEASED' }, task.id);
  turn.woken.add(worker.id);
}

/** Whether a worker knows why it holds a task no more. In every other case it must be told to stop. */
const IS_KNOWN: Readonly<Record<LeaseEnd, boolean>> = {
  reported: true,
  undelivered: true,
  expired: false,
  cancelled: false,
  timed_out: false,
};

function revoke(turn: Turn, { id }: TaskAddress, { worker_id, why }: LeaseEnded): void {
  const worker = turn.core.registry.workers.get(worker_id);
  if (!worker || IS_KNOWN[why]) return;
  worker.revoked.add(turn, id);
  turn.concerned.add(worker);
}

function mentionStop(turn: Turn, { row }: TaskAddress): void {
  const worker = turn.core.registry.workers.get(row.worker_id as string);
  if (worker) turn.concerned.add(worker);
}

function orderRefit(turn: Turn, job: JobAddress, said: JobEmission): void {
  if (wantsRefit(said)) turn.selecting.add(job);
}

function wake(turn: Turn, { id }: WorkerAddress): void {
  turn.woken.add(id);
}

/** Of what waits, some may be left without a worker, or wait for no other than one that lacks a path. */
function judgeWaiting(turn: Turn): void {
  turn.judge = true;
}

function endSilence(turn: Turn, worker: WorkerAddress): void {
  worker.note(turn, { silentAt: null });
}
