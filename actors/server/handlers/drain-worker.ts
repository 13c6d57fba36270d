import { ClusterError } from '../../../machines/protocol/errors.ts';
import { cancelAhead } from '../jobs/bulk-command.ts';
import type { TaskCell, WorkerCell } from '../runtime/actor-cell.ts';
import { inSteps, withBreaks } from '../turn/steps.ts';
import type { Turn } from '../turn/turn.ts';
import type { Handler } from './handler.ts';

/** A worker is given nothing more, until somebody lifts that; after a time it is to give back what it still has. */
export const drainWorker: Handler<'drain_worker'> = {
  preload: ({ worker_id }) => ({ workers: [worker_id] }),
  async handle({ principal, worker_id, timeout_s }, { turn }) {
    const worker = turn.worker(worker_id);
    const takes_back_at = timeout_s === undefined ? null : turn.now + timeout_s;
    const order = { by: principal.name, at: turn.now, takes_back_at };
    turn.tellWorker(worker, { type: 'DRAIN_ORDERED', order });
    if (timeout_s === 0) await takeBackAll(turn, worker);
    return { worker_id };
  },
};

export const resumeWorker: Handler<'resume_worker'> = {
  preload: ({ worker_id }) => ({ workers: [worker_id] }),
  handle({ worker_id }, { turn }) {
    const worker = turn.worker(worker_id);
    if (turn.tellWorker(worker, { type: 'DRAIN_LIFTED' })) return { worker_id };
    throw new ClusterError('illegal_transition', `worker ${worker_id} is not drained`);
  },
};

/** A worker that has gone is forgotten. What it was believed to have is tried again, as if it had not had it. */
export const removeWorker: Handler<'remove_worker'> = {
  preload: ({ worker_id }) => ({ workers: [worker_id] }),
  async handle({ worker_id }, { turn }) {
    const worker = turn.worker(worker_id);
    if (worker.row.status === 'alive') {
      throw new ClusterError(
        'illegal_transition',
        `worker ${worker_id} is alive; drain it, end its program, and remove it then`,
      );
    }
    await takeBackAll(turn, worker);
    turn.tellWorker(worker, { type: 'REMOVE' });
    return { worker_id };
  },
};

/** What a worker has goes back to its place. */
export async function takeBackAll(turn: Turn, worker: WorkerCell): Promise<void> {
  worker.update(turn, { takesBackAt: null });
  await inSteps(withBreaks([...worker.held], (task) => takeBack(turn, task)));
}

/** @returns whether it was the task's to give */
export function takeBack(turn: Turn, task: TaskCell): boolean {
  cancelAhead(turn, task);
  return turn.tellTask(task, { type: 'TAKE_BACK' });
}
