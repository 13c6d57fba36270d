import type { LeasedTask } from '../../../gateway/messages.ts';
import { hear, ownWorker } from '../life.ts';
import { assertSession } from '../session.ts';
import { PARKED, type Verb } from '../verb.ts';

/** Parks a request for work; the end of the same turn grants what there is, a later one what comes. */
export const lease: Verb<'lease'> = {
  run({ principal, worker_id, session, wait_s, max_tasks, signal }, { turn, answer, refuse }) {
    const worker = ownWorker(turn, principal, worker_id);
    assertSession(worker, session);
    const { parking, askedUntil, clock, deadlines, listing, settings } = turn.core;
    hear(turn, worker);
    if (max_tasks === 0) {
      // A worker that drains: either this reaches its open request, or a task has, which it then knows of.
      parking.withdrawLeases(worker_id);
      return { tasks: [] };
    }
    askedUntil.set(worker_id, clock.monotonic() + wait_s);
    // It asks although its slots look taken: perhaps the server's view is stale (contract, "Lease").
    const full = worker.row.slots_used >= worker.row.slots_total;
    if (!full || listing.has(worker_id)) deadlines.delete(`stale:${worker_id}`);
    else if (!deadlines.has(`stale:${worker_id}`)) deadlines.set(`stale:${worker_id}`, settings.leaseTtl);
    if (signal?.aborted) return { tasks: [] };
    const until = clock.monotonic() + wait_s;
    const request = {
      worker_id,
      session,
      principal,
      max_tasks,
      until,
      signal,
      answer: (tasks: LeasedTask[]) => answer({ tasks }),
      refuse,
    };
    const { ticket } = parking.parkLease(request);
    turn.onRollback(() => parking.removeLease(ticket));
    turn.woken.add(worker_id);
    return PARKED;
  },
};

/** A lease whose answer never reached the socket goes back to its place and costs no attempt. */
export const leaseUndelivered: Verb<'lease_undelivered'> = {
  whenStoreFails: 'wait',
  needs: ({ tasks }) => ({ tasks: tasks.map((task) => task.task_id) }),
  run({ worker_id, tasks }, { turn }) {
    for (const { task_id, attempt } of tasks) {
      const task = turn.core.registry.tasks.get(task_id);
      if (task?.row.worker_id === worker_id && task.row.attempt === attempt)
        turn.tellTask(task, { type: 'RETURN' });
    }
    return { ok: true };
  },
};
