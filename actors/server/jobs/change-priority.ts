import type { JobCell } from '../runtime/actor-cell.ts';
import { moveToPriority } from '../scheduling/queueing.ts';
import type { TaskRow } from '../store/rows.ts';
import { inSteps, withBreaks } from '../turn/steps.ts';
import type { Turn } from '../turn/turn.ts';

type Queued = Pick<TaskRow, 'seq' | 'requirement_id'>;

/**
 * Gives a job another priority, in a turn of its own: what of it is queued stands there at once, and what comes back,
 * or comes later, does as well. All rows are written by one statement, of some microseconds for each task.
 */
export async function changePriority(turn: Turn, job: JobCell, priority: number): Promise<void> {
  const { directory, store } = turn.core;
  const { id } = job;
  const before = job.row.priority;
  job.amend(turn, { priority });
  for (const task of directory.tasksOf(id)) task.amend(turn, { priority });
  // One text: a hundred thousand rows of their own would keep others waiting.
  const queued = await store.reader.get<{ entries: string | null }>(
    "SELECT string_agg(seq || ',' || requirement_id, ',') AS entries FROM tasks WHERE job_id = ? AND status = 'queued'",
    id,
  );
  const entries = JSON.parse(`[${queued?.entries ?? ''}]`) as number[];
  await inSteps(
    withBreaks(rowsIn(entries), (row) =>
      moveToPriority(turn, { ...row, job_id: id, priority: before }, priority),
    ),
  );
  turn.further.push(
    { sql: 'UPDATE jobs SET priority = ? WHERE id = ?', params: [priority, id] },
    {
      sql: "UPDATE tasks SET priority = ? WHERE job_id = ? AND status NOT IN ('succeeded', 'cancelled')",
      params: [priority, id],
    },
  );
}

function* rowsIn(entries: readonly number[]): Generator<Queued> {
  for (let i = 0; i < entries.length; i += 2)
    yield { seq: entries[i] as number, requirement_id: entries[i + 1] as number };
}
