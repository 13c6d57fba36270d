import { assign, emit, setup } from 'xstate';
import { type Standing, withTask } from './ranking/standing.ts';
import { tabled } from './tabled/tabled.ts';
import type { LeftState, RankValues, TaskEmission } from './task.ts';

/** How many of the job's tasks are in each state; kept by the job itself, never recounted. */
export interface TaskCounts {
  queued: number;
  leased: number;
  running: number;
  lost: number;
  succeeded: number;
  failed: number;
  cancelled: number;
}

export interface JobContext {
  id: string;
  num_tasks: number;
  counts: TaskCounts;
  /** By each of the metrics that the job may rank by, as they are listed. */
  standings: readonly Standing[];
  /** How many of the succeeded tasks have the result of another one. */
  num_reused: number;
  error: string | null;
}

/** What a job is told: a person's wishes, and what its tasks emit. */
export type JobEvent =
  | { type: 'CANCEL' }
  | { type: 'RETRY' }
  /** Each of its tasks has been told what the person wished. */
  | { type: 'ALL_TOLD' }
  | { type: 'TASK_LEASED' }
  | { type: 'TASK_STARTED' }
  | { type: 'TASK_LOST'; from: LeftState }
  | { type: 'TASK_REQUEUED'; from: LeftState }
  /** One that is still queued has the result of another one. */
  | ({
      type: 'TASK_SUCCEEDED';
      from: 'running' | 'queued';
      task_id: string;
      model_artifact_id: string | null;
    } & RankValues)
  | { type: 'TASK_FAILED'; from: LeftState; error: string }
  | { type: 'TASK_CANCELLED'; from: LeftState };

export type JobEmission =
  | { type: 'job_running' }
  | { type: 'job_succeeded' }
  | { type: 'job_failed'; error: string }
  | { type: 'job_cancelled' }
  | { type: 'job_retried' };

/** The routing table: which event of the job a task's emission is. A failure that is tried again moves nothing. */
export function jobEventFor(taskId: string, emission: TaskEmission): JobEvent | null {
  switch (emission.type) {
    case 'task_leased':
      return { type: 'TASK_LEASED' };
    case 'task_started':
      return { type: 'TASK_STARTED' };
    case 'task_completed':
    case 'task_reused':
      return {
        type: 'TASK_SUCCEEDED',
        from: emission.type === 'task_reused' ? 'queued' : 'running',
        task_id: taskId,
        rank_value: emission.rank_value,
        rank_others: emission.rank_others,
        model_artifact_id: emission.model_artifact_id,
      };
    case 'task_failed':
      return emission.requeued ? null : { type: 'TASK_FAILED', from: emission.from, error: emission.error };
    case 'task_lost':
      return { type: 'TASK_LOST', from: emission.from };
    case 'task_requeued':
      return { type: 'TASK_REQUEUED', from: emission.from };
    case 'task_cancelled':
      return { type: 'TASK_CANCELLED', from: emission.from };
  }
}

type CountState = keyof TaskCounts;

const MOVES: Partial<Record<JobEvent['type'], { from?: CountState; to: CountState }>> = {
  TASK_LEASED: { from: 'queued', to: 'leased' },
  TASK_STARTED: { from: 'leased', to: 'running' },
  TASK_SUCCEEDED: { to: 'succeeded' },
  TASK_LOST: { to: 'lost' },
  TASK_REQUEUED: { to: 'queued' },
  TASK_FAILED: { to: 'failed' },
  TASK_CANCELLED: { to: 'cancelled' },
};

function countMove(counts: TaskCounts, event: JobEvent): TaskCounts {
  const move = MOVES[event.type];
  if (!move) return counts;
  const from = move.from ?? ('from' in event ? event.from : undefined);
  if (!from) return counts;
  const moved = { ...counts };
  moved[from]--;
  moved[move.to]++;
  return moved;
}

const numEnded = ({ counts }: JobContext): number => counts.succeeded + counts.failed + counts.cancelled;

function withSuccess(standings: readonly Standing[], event: JobEvent): readonly Standing[] {
  if (event.type !== 'TASK_SUCCEEDED') return standings;
  const task = { best_task_id: event.task_id, best_model_artifact_id: event.model_artifact_id };
  const values = [event.rank_value, ...event.rank_others];
  return standings.map((standing, place) => withTask(standing, values[place] ?? null, task));
}

/**
 * One job (specification, "Job states"). It becomes running when its first task is leased and ends when all
 * its tasks have ended: cancelled if it was cancelling, else succeeded if one succeeded, else failed. What a person
 * wishes is told to its tasks slice by slice; in the states in which that goes on, none of them is leased.
 */
const chart = setup({
  types: {
    context: {} as JobContext,
    events: {} as JobEvent,
    emitted: {} as JobEmission,
    input: {} as JobContext,
  },
  guards: {
    /** The task that this event is about is the last one to end. */
    isLast: ({ context }) => numEnded(context) + 1 === context.num_tasks,
    hasFailedTasks: ({ context }) => context.counts.failed > 0,
    allEnded: ({ context }) => numEnded(context) === context.num_tasks,
    isLastAndOneSucceeded: ({ context }) =>
      context.counts.succeeded > 0 && numEnded(context) + 1 === context.num_tasks,
  },
  actions: {
    count: assign(({ context, event }) => ({ counts: countMove(context.counts, event) })),
    countAndRank: assign(({ context, event }) => ({
      counts: countMove(context.counts, event),
      standings: withSuccess(context.standings, event),
      num_reused: context.num_reused + Number(event.type === 'TASK_SUCCEEDED' && event.from === 'queued'),
    })),
    keepError: assign({
      error: ({ context, event }) => (event.type === 'TASK_FAILED' ? event.error : context.error),
    }),
    clearError: assign({ error: null }),
    emitRunning: emit({ type: 'job_running' }),
    emitSucceeded: emit({ type: 'job_succeeded' }),
    emitFailed: emit(({ context }) => ({ type: 'job_failed', error: context.error ?? 'all tasks failed' })),
    emitCancelled: emit({ type: 'job_cancelled' }),
    emitRetried: emit({ type: 'job_retried' }),
  },
}).createMachine({
  id: 'job',
  context: ({ input }) => input,
  initial: 'queued',
  states: {
    queued: {
      initial: 'ready',
      states: {
        ready: {
          on: {
            TASK_LEASED: { target: '#job.running', actions: ['count', 'emitRunning'] },
            // No worker could run it, so that it ends without having been leased.
            TASK_FAILED: [
              {
                guard: 'isLastAndOneSucceeded',
                target: '#job.succeeded',
                actions: ['count', 'clearError', 'emitSucceeded'],
              },
              { guard: 'isLast', target: '#job.failed', actions: ['count', 'keepError', 'emitFailed'] },
              { actions: ['count', 'keepError'] },
            ],
            CANCEL: { target: '#job.cancelling' },
          },
        },
        /** Its tasks are given the results that equal ones have, one after the other, where there are such. */
        reusing: {
          on: {
            TASK_SUCCEEDED: { actions: 'countAndRank' },
            ALL_TOLD: [
              { guard: 'allEnded', target: '#job.succeeded', actions: 'emitSucceeded' },
              { target: 'ready' },
            ],
            CANCEL: { target: '#job.cancelling' },
          },
        },
        /** Its failed tasks come back. */
        requeuing: {
          on: {
            TASK_REQUEUED: { actions: 'count' },
            ALL_TOLD: { target: 'ready' },
            CANCEL: { target: '#job.cancelling.requeuing' },
          },
        },
      },
    },
    running: {
      on: {
        TASK_LEASED: { actions: 'count' },
        TASK_STARTED: { actions: 'count' },
        TASK_LOST: { actions: 'count' },
        TASK_REQUEUED: { actions: 'count' },
        TASK_SUCCEEDED: [
          {
            guard: 'isLast',
            target: 'succeeded',
            actions: ['countAndRank', 'clearError', 'emitSucceeded'],
          },
          { actions: 'countAndRank' },
        ],
        TASK_FAILED: [
          {
            guard: 'isLastAndOneSucceeded',
            target: 'succeeded',
            actions: ['count', 'clearError', 'emitSucceeded'],
          },
          { guard: 'isLast', target: 'failed', actions: ['count', 'keepError', 'emitFailed'] },
          { actions: ['count', 'keepError'] },
        ],
        CANCEL: { target: 'cancelling' },
      },
    },
    cancelling: {
      initial: 'telling',
      on: {
        // It ends with the last task that has to stop; perhaps none has.
        ALL_TOLD: [
          { guard: 'allEnded', target: 'cancelled', actions: ['clearError', 'emitCancelled'] },
          { target: '.stopping' },
        ],
      },
      states: {
        /** The retry that was going on is finished first: what comes back is cancelled at once. */
        requeuing: {
          on: {
            TASK_REQUEUED: { actions: 'count' },
            TASK_CANCELLED: { actions: 'count' },
          },
        },
        telling: {
          on: {
            TASK_CANCELLED: { actions: 'count' },
          },
        },
        /** Its workers are told to stop. */
        stopping: {
          on: {
            TASK_CANCELLED: [
              {
                guard: 'isLast',
                target: '#job.cancelled',
                actions: ['count', 'clearError', 'emitCancelled'],
              },
              { actions: 'count' },
            ],
          },
        },
      },
    },
    cancelled: { type: 'final' },
    succeeded: {
      on: {
        RETRY: { guard: 'hasFailedTasks', target: 'queued.requeuing', actions: 'emitRetried' },
      },
    },
    failed: {
      on: {
        RETRY: { target: 'queued.requeuing', actions: ['clearError', 'emitRetried'] },
      },
    },
  },
});

/** The chart, its steps looked up. */
export const jobMachine = tabled(chart);
