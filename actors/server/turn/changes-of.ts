import { isHeld } from '../../../machines/task/task.ts';
import { type TaskCell, WorkerCell } from '../runtime/actor-cell.ts';
import type { Changes } from '../store/changes.ts';
import type { WorkerRow } from '../store/rows.ts';
import type { Turn } from './turn.ts';

/** All that a turn did, as it is written: in one transaction, or not at all. */
export function changesOf(turn: Turn): Changes {
  for (const cell of [...turn.core.directory.unwritten, ...turn.tasks]) writeTimes(turn, cell);
  const { counters } = turn.core;
  const [new_jobs, changed_jobs] = split(turn.jobs, isNew);
  const [new_tasks, changed_tasks] = split(turn.tasks, isNew);
  const known = [...turn.workers].filter((worker) => !worker.isRemoved);
  const [registered_workers, changed_workers] = split(known, hasRegistered);
  const { requirements, variants, choices, computed, artifacts, events, notifications } = turn;
  return {
    ...{ new_jobs, changed_jobs, new_tasks, changed_tasks, registered_workers, changed_workers },
    removed_workers: [...turn.workers].filter((worker) => worker.isRemoved).map(({ id }) => ({ id })),
    ...{ requirements, variants, choices, computed, artifacts, events, notifications },
    pauses: turn.pauses,
    lifted_pauses: turn.liftedPauses,
    job_requests: [...turn.requests].map(([job_id, request]) => ({ job_id, request })),
    job_inputs: turn.inputs,
    task_artifacts: turn.taskArtifacts,
    further: turn.further,
    minutes: [counters.minuteWith(turn.now, turn.counts)],
    tally: [counters.rowWith(turn.counts)],
  };
}

/** The rows that are written as new ones, and the others. */
function split<Row>(
  cells: Iterable<{ readonly row: Row; readonly committed: Row | null }>,
  isFirst: (before: Row | null, after: Row) => boolean,
): [Row[], Row[]] {
  const first: Row[] = [];
  const others: Row[] = [];
  for (const { row, committed } of cells) (isFirst(committed, row) ? first : others).push(row);
  return [first, others];
}

const isNew = (before: unknown): boolean => before === null;

/** A registration brings a new declaration, even where it says the same. */
const hasRegistered = (before: Readonly<WorkerRow> | null, after: Readonly<WorkerRow>): boolean =>
  before === null || before.version !== after.version;

/** What heartbeats moved in memory reaches the row here, with the commit that happens to be next. */
function writeTimes(turn: Turn, cell: WorkerCell | TaskCell): void {
  if (cell instanceof WorkerCell) {
    cell.amend(turn, { last_seen_at: cell.soft.lastSeenAt });
    return;
  }
  // Of very many tasks that a turn touches, few have a lease.
  const { leaseEndsAt } = cell.soft;
  if (leaseEndsAt === null || !isHeld(cell.row)) return;
  cell.amend(turn, { lease_expires_at: turn.now + leaseEndsAt - turn.core.hearing.monotonic() });
}
