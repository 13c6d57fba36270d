import type { LeasedTask } from '../../../gateway/messages.ts';
import { hear, ownWorker, withdrawLeases } from '../life.ts';
import { assertSession } from '../session.ts';
import { PARKED, type Verb } from '../verb.ts';

/** Parks a request for work; the end of the same turn grants what there is, a later one what comes. */
export const lease: Verb<'lease'> = {
  needs: ({ worker_id }) => ({ workers: [worker_id] }),
  run({ principal, worker_id, session, wait_s, max_tasks, signal }, { turn, answer, refuse }) {
    const worker = ownWorker(turn, principal, worker_id);
    assertSession(worker, session);
    const { parking, clock, hearing, settings } = turn.core;
    hear(turn, worker);
    if (max_tasks === 0) {
      // A worker that drains: either this reaches its open request, or a task has, which it then knows of.
      withdrawLeases(turn, worker);
      return { tasks: [] };
    }
    const until = clock.monotonic() + wait_s;
    // It asks although its slots look taken: perhaps the server's view is stale (docs/semantics.md#leases).
    const { doubtAt, listsActive } = worker.facts;
    const isDoubtful = worker.row.slots_used >= worker.row.slots_total && !listsActive;
    worker.note(turn, {
      askedUntil: hearing.monotonic() + wait_s,
      doubtAt: isDoubtful ? (doubtAt ?? hearing.monotonic() + settings.leaseTtl) : null,
    });
    if (signal?.aborted) return { tasks: [] };
    parking.parkLease(turn, {
      worker_id,
      session,
      principal,
      max_tasks,
      until,
      signal,
      answer: (tasks: LeasedTask[], handedOut?: () => void) => answer({ tasks, handedOut }),
      refuse,
    });
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
