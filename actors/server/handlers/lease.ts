import type { LeasedTask } from '../../../gateway/messages.ts';
import { cancelAhead } from '../jobs/bulk-command.ts';
import { type Handler, WAITING } from './handler.ts';
import { ownWorker, releaseWaitingLeases, touch } from './liveness.ts';
import { assertSession } from './session.ts';

/** Queues a request for work; the end of the same turn grants what there is, a later one what comes. */
export const lease: Handler<'lease'> = {
  preload: ({ worker_id }) => ({ workers: [worker_id] }),
  handle({ principal, worker_id, session, wait_s, max_tasks, signal }, { turn, answer, refuse }) {
    const worker = ownWorker(turn, principal, worker_id);
    assertSession(worker, session);
    const { longPolls, clock, hearing, settings } = turn.core;
    touch(turn, worker);
    if (max_tasks === 0) {
      // A worker that drains: either this reaches its open request, or a task has, which it then knows of.
      releaseWaitingLeases(turn, worker);
      return { tasks: [] };
    }
    const until = clock.monotonic() + wait_s;
    // It asks although its slots look taken: perhaps the server's view is stale (docs/semantics.md#leases).
    const { staleAt } = worker.soft;
    const isDoubtful = worker.row.slots_used >= worker.row.slots_total;
    worker.update(turn, {
      polledUntil: hearing.monotonic() + wait_s,
      staleAt: isDoubtful ? (staleAt ?? hearing.monotonic() + settings.leaseTtl) : null,
    });
    if (signal?.aborted) return { tasks: [] };
    longPolls.addLease(turn, {
      worker_id,
      session,
      principal,
      max_tasks,
      askedAt: turn.now,
      until,
      signal,
      answer: (tasks: LeasedTask[], handedOut?: () => void) => answer({ tasks, handedOut }),
      refuse,
    });
    turn.wokenWorkers.add(worker_id);
    return WAITING;
  },
};

/** A lease whose answer never reached the socket goes back to its place and costs no attempt. */
export const leaseUndelivered: Handler<'lease_undelivered'> = {
  whenStoreFails: 'wait',
  preload: ({ tasks }) => ({ tasks: tasks.map((task) => task.task_id) }),
  handle({ worker_id, tasks }, { turn }) {
    for (const { task_id, attempt } of tasks) {
      const task = turn.findTask(task_id);
      if (task?.row.worker_id !== worker_id || task.row.attempt !== attempt) continue;
      if (!cancelAhead(turn, task)) turn.tellTask(task, { type: 'UNDELIVERED' });
    }
    return { ok: true };
  },
};
