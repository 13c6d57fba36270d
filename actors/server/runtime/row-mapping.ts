import type { AnyMachineSnapshot, AnyStateMachine, SnapshotFrom } from 'xstate';
import { type JobContext, jobMachine } from '../../../machines/job/job.ts';
import { rankedBy } from '../../../machines/ranking/standing.ts';
import { type TaskContext, taskMachine } from '../../../machines/task/task.ts';
import { type WorkerContext, workerMachine } from '../../../machines/worker/worker.ts';
import type { JobRow, TaskRow, WorkerRow } from '../store/rows.ts';
import { compiled } from './compile/compiled-machine.ts';
import { Stage } from './stage.ts';

/** How a row and the snapshot of its actor correspond; exact both ways, for every state. */
export interface RowMapping<Row, M extends AnyStateMachine> {
  /** Where the actors of the kind act. */
  stage: Stage<M>;
  restore(row: Row): SnapshotFrom<M>;
  /** @param now when the actor moved, in seconds since the epoch */
  fold(row: Row, snapshot: SnapshotFrom<M>, now: number): Row;
}

/** A status, and the state below it. */
interface Stated {
  status: string;
  state: string | null;
}

/**
 * A row has all that the context of its actor knows, under the same names, beside the state.
 * @param members of the context, each once
 * @param follows what else of the row follows from the context, or from when the actor moved: not before it was made,
 *   also where the wall clock was set back
 */
function mapping<Row extends Context & Stated, M extends AnyStateMachine, Context extends object>(
  machine: M,
  members: Readonly<Record<keyof Context, true>>,
  follows: (context: Context, now: number, row: Row) => Partial<Row>,
): RowMapping<Row, M> {
  // An event finds its transition in a table, made here once of each chart (docs/decisions/0010-compiled-statecharts.md).
  const stage = new Stage(compiled(machine));
  const names = Object.keys(members) as (keyof Context)[];
  return {
    stage,
    restore(row) {
      // Of the same shape each time, which spares V8 a guess.
      const context = { ...members } as unknown as Context;
      for (const name of names) context[name] = row[name];
      const value = row.state === null ? row.status : { [row.status]: row.state };
      return stage.machine.resolveState({ value, context }) as SnapshotFrom<M>;
    },
    fold(row, snapshot, now) {
      const { value, context } = snapshot as AnyMachineSnapshot & { context: Context };
      return { ...row, ...context, ...split(value), ...follows(context, now, row) };
    },
  };
}

/** Splits a state value into the status on the wire and the state below it. */
function split(value: unknown): Stated {
  if (typeof value === 'string') return { status: value, state: null };
  for (const status in value as Record<string, string>) {
    return { status, state: (value as Record<string, string>)[status] ?? null };
  }
  throw new Error('a state value without a state');
}

export const JOB = mapping<JobRow, typeof jobMachine, JobContext>(
  jobMachine,
  {
    ...{ id: true, num_tasks: true, counts: true, standings: true, num_reused: true },
    ...{ selection: true, error: true },
  },
  ({ standings }, now, { created_at }) => ({
    ...rankedBy(standings),
    updated_at: Math.max(created_at, now),
  }),
);

export const TASK = mapping<TaskRow, typeof taskMachine, TaskContext>(
  taskMachine,
  {
    ...{ id: true, job_id: true, attempt: true, max_attempts: true, backoff_seconds: true, not_before: true },
    ...{ worker_faults: true, take_backs: true, avoids: true, worker_id: true },
    ...{
      lease_expires_at: true,
      started_at: true,
      error: true,
      result: true,
      reused_from: true,
      rank_value: true,
      rank_others: true,
    },
    ...{ model_artifact_id: true, last_report: true },
  },
  (_, now, { created_at }) => ({ updated_at: Math.max(created_at, now) }),
);

export const WORKER = mapping<WorkerRow, typeof workerMachine, WorkerContext>(
  workerMachine,
  { id: true, slots_total: true, slots_used: true, suspended: true, leaving: true, drained: true },
  () => ({}),
);
