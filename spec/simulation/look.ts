import type { Backend } from '../../gateway/backend.ts';
import type { JobView, TaskView } from '../../machines/schema/views.ts';
import { type History, must } from '../history/history.ts';
import { compareCounts, type JobRow, type Rows, type TaskRow } from '../history/rows.ts';
import { readJob, readTasks, seen } from '../support/views.ts';

/** Counts, which the server keeps in memory, against the events. Cheap: made after every step. */
export async function compareMemory(backend: Backend, history: History): Promise<void> {
  const stats = await backend.reads.stats();
  compareCounts('tasks by status', stats.tasks_by_status, history.taskCounts);
  compareCounts('jobs by status', stats.jobs_by_status, history.jobCounts);
}

/**
 * All that can be read against the events.
 * @param now as in `Rows`
 */
export async function compareStore(
  backend: Backend,
  history: History,
  rows: Rows,
  now: number | null,
  what: 'everything' | 'what moved',
): Promise<void> {
  const ids = what === 'everything' ? [...history.jobs.keys()] : [...history.moved];
  await Promise.all(ids.map(async (id) => rows.compareJob(await jobRow(backend, id), now)));
  history.settle();
  for (const worker of await seen(backend).workers()) {
    const holds = history.held.get(worker.id) ?? 0;
    must(worker.slots_used === holds, `${worker.name} has ${worker.slots_used} slots used, holds ${holds}`);
    must(worker.status === history.workers.get(worker.id), `${worker.name} is ${worker.status}`);
  }
}

async function jobRow(backend: Backend, id: string): Promise<JobRow> {
  const view: JobView = await readJob(backend, id);
  const { num_queued, num_running, num_succeeded, num_failed, num_cancelled } = view.aggregate;
  const counts = {
    ...{ queued: num_queued, running: num_running },
    ...{ succeeded: num_succeeded, failed: num_failed, cancelled: num_cancelled },
  };
  return { id, status: view.status, counts, tasks: (await readTasks(backend, id)).map(taskRow) };
}

const taskRow = (view: TaskView): TaskRow => ({
  id: view.id,
  status: view.status,
  attempt: view.attempt,
  worker: view.worker_id,
  leaseEnds: view.lease_expires_at,
  result: view.result === null ? null : JSON.stringify(view.result),
  reusedFrom: view.reused_from?.task_id ?? null,
});
