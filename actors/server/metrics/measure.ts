import { OTHER } from '../../../gateway/metrics/known.ts';
import type { TaskCell } from '../runtime/actor-cell.ts';
import type { TaskRow } from '../store/rows.ts';
import type { Turn } from '../turn/turn.ts';

/* What is measured of a task, once it is durable. */

/** How long it was queued. */
export function measureQueue(turn: Turn, { row }: TaskCell, _: unknown, before: TaskRow): void {
  const seconds = turn.now - before.updated_at;
  turn.afterCommit(() => turn.core.measures.queued(typeOf(turn, row), seconds));
}

/** How long an attempt ran that its worker had started. */
export function measureRun(turn: Turn, { row }: TaskCell, _: unknown, before: TaskRow): void {
  const { status, started_at } = before;
  if (status !== 'running' || started_at === null) return;
  const seconds = turn.now - started_at;
  turn.afterCommit(() => turn.core.measures.ran(typeOf(turn, row), seconds));
}

const typeOf = (turn: Turn, { job_id }: TaskRow): string => turn.findJob(job_id)?.row.type ?? OTHER;
