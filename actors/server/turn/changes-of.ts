import { isHeld } from '../../../machines/task/task.ts';
import { type TaskCell, WorkerCell } from '../runtime/actor-cell.ts';
import type { Changes } from '../store/changes.ts';
import type { Table } from '../store/columns.ts';
import type { WorkerRow } from '../store/rows.ts';
import { JOBS, TASKS, WORKERS } from '../store/tables.ts';
import type { Turn } from './turn.ts';

/** All that a turn did, as it is written: in one transaction, or not at all. */
export function changesOf(turn: Turn): Changes {
  for (const cell of [...turn.core.directory.unwritten, ...turn.tasks]) writeTimes(turn, cell);
  const { counters } = turn.core;
  const jobs = sorted(turn.jobs, JOBS, isNew);
  const tasks = sorted(turn.tasks, TASKS, isNew);
  const known = [...turn.workers].filter((worker) => !worker.isRemoved);
  const workers = sorted(known, WORKERS, hasRegistered);
  const { requirements, variants, choices, computed, artifacts, events, notifications } = turn;
  return {
    plain_new_jobs: jobs.plainFirst,
    plain_changed_jobs: jobs.plain,
    new_jobs: jobs.first,
    changed_jobs: jobs.changed,
    plain_new_tasks: tasks.plainFirst,
    plain_changed_tasks: tasks.plain,
    new_tasks: tasks.first,
    changed_tasks: tasks.changed,
    // A registration is written whole.
    registered_workers: [...workers.first, ...workers.plainFirst],
    plain_changed_workers: workers.plain,
    changed_workers: workers.changed,
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

/** The rows that are written as new ones, and the others; of both, those that may be written plainly by themselves. */
function sorted<Row>(
  cells: Iterable<{ readonly row: Row; readonly committed: Row | null }>,
  table: Table<Row>,
  isFirst: (before: Row | null, after: Row) => boolean,
) {
  const rows = { first: [] as Row[], plainFirst: [] as Row[], changed: [] as Row[], plain: [] as Row[] };
  for (const { row, committed } of cells) {
    const isPlain = table.isPlain(row, committed);
    if (isFirst(committed, row)) rows[isPlain ? 'plainFirst' : 'first'].push(row);
    else rows[isPlain ? 'plain' : 'changed'].push(row);
  }
  return rows;
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
