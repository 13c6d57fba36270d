import { assign, emit, setup } from 'xstate';
import { tabled } from './tabled/tabled.ts';

/** The last report that was accepted, so that its repetition gets the same answer (contract, "Reports"). */
export interface AcceptedReport {
  worker_id: string;
  attempt: number;
  verb: 'start' | 'complete' | 'fail';
  answer: { ok: boolean; requeued?: boolean };
}

export interface TaskContext {
  id: string;
  job_id: string;
  /** Counts leases; a report of an earlier attempt is refused, so it never goes back once a worker saw it. */
  attempt: number;
  max_attempts: number;
  worker_id: string | null;
  /** Seconds since the epoch; for people: the running deadline is kept on a monotonic clock. */
  lease_expires_at: number | null;
  started_at: number | null;
  error: string | null;
  /** The task result as JSON text, once succeeded. */
  result: string | null;
  /** The value of the job's rank metric, if the result has one. */
  rank_value: number | null;
  model_artifact_id: string | null;
  last_report: AcceptedReport | null;
}

export type TaskEvent =
  | { type: 'LEASE'; worker_id: string; lease_expires_at: number }
  /** The lease's answer never reached its worker: back to its place, and no attempt is spent. */
  | { type: 'RETURN' }
  | { type: 'START'; now: number; report: AcceptedReport }
  | {
      type: 'COMPLETE';
      result: string;
      rank_value: number | null;
      model_artifact_id: string | null;
      report: AcceptedReport;
    }
  | { type: 'FAIL'; error: string; retriable: boolean; traceback?: string; report: AcceptedReport }
  /** The lease expired without a sign of life. */
  | { type: 'LAPSE' }
  /** The server ends an attempt whose worker did not enforce the timeout itself. */
  | { type: 'TIMEOUT'; error: string }
  | { type: 'CANCEL' }
  /** A person asks for more attempts of a failed task. */
  | { type: 'RETRY'; extra_attempts: number };

/** The state a task leaves, for the job's counters. */
export type LeftState = 'queued' | 'leased' | 'running' | 'lost' | 'failed';

export type TaskEmission =
  | { type: 'task_leased'; worker_id: string }
  | { type: 'task_started' }
  | { type: 'task_completed'; rank_value: number | null; model_artifact_id: string | null }
  | {
      type: 'task_failed';
      from: LeftState;
      error: string;
      retriable: boolean;
      requeued: boolean;
      traceback?: string;
    }
  | { type: 'task_lost'; from: LeftState; worker_id: string | null }
  | { type: 'task_requeued'; from: LeftState; reason: 'failure' | 'lease_lapsed' | 'undelivered' | 'retry' }
  | { type: 'task_cancelled'; from: LeftState };

const LOST = 'the worker fell silent and the lease lapsed';

/**
 * One task (specification, "Task states"). `lost` is passed through: it resolves at once to `queued` or
 * `failed`. `running.stopping` is a running task of a cancelled job: whatever ends it, it ends cancelled.
 */
const chart = setup({
  types: {
    context: {} as TaskContext,
    events: {} as TaskEvent,
    emitted: {} as TaskEmission,
    input: {} as TaskContext,
  },
  guards: {
    attemptsRemain: ({ context }) => context.attempt < context.max_attempts,
    mayRetryFailure: ({ context, event }) =>
      event.type === 'FAIL' && event.retriable && context.attempt < context.max_attempts,
  },
  actions: {
    grant: assign(({ context, event }) =>
      event.type === 'LEASE'
        ? {
            attempt: context.attempt + 1,
            worker_id: event.worker_id,
            lease_expires_at: event.lease_expires_at,
            started_at: null,
          }
        : {},
    ),
    takeBackAttempt: assign(({ context }) => ({ attempt: context.attempt - 1 })),
    release: assign({ worker_id: null, lease_expires_at: null }),
    start: assign(({ event }) =>
      event.type === 'START' ? { started_at: event.now, last_report: event.report } : {},
    ),
    keepReport: assign({
      last_report: ({ context, event }) => ('report' in event ? event.report : context.last_report),
    }),
    keepResult: assign(({ event }) =>
      event.type === 'COMPLETE'
        ? {
            result: event.result,
            rank_value: event.rank_value,
            model_artifact_id: event.model_artifact_id,
            error: null,
            lease_expires_at: null,
            last_report: event.report,
          }
        : {},
    ),
    keepError: assign({
      error: ({ event }) => ('error' in event ? event.error : LOST),
      lease_expires_at: null,
    }),
    endLease: assign({ lease_expires_at: null }),
    allowMoreAttempts: assign(({ context, event }) =>
      event.type === 'RETRY'
        ? { max_attempts: context.max_attempts + event.extra_attempts, error: null }
        : {},
    ),
    emitLeased: emit(({ context }) => ({ type: 'task_leased', worker_id: context.worker_id as string })),
    emitStarted: emit({ type: 'task_started' }),
    emitCompleted: emit(({ context }) => ({
      type: 'task_completed',
      rank_value: context.rank_value,
      model_artifact_id: context.model_artifact_id,
    })),
    emitFailed: emit(({ event }, params: { from: LeftState; requeued: boolean }) => ({
      type: 'task_failed',
      from: params.from,
      error: 'error' in event ? event.error : LOST,
      retriable: event.type === 'FAIL' ? event.retriable : true,
      requeued: params.requeued,
      ...(event.type === 'FAIL' && event.traceback !== undefined ? { traceback: event.traceback } : {}),
    })),
    emitLost: emit(({ context }, params: { from: LeftState }) => ({
      type: 'task_lost',
      from: params.from,
      worker_id: context.worker_id,
    })),
    emitRequeued: emit(
      (_, params: { from: LeftState; reason: 'failure' | 'lease_lapsed' | 'undelivered' | 'retry' }) => ({
        type: 'task_requeued',
        ...params,
      }),
    ),
    emitCancelled: emit((_, params: { from: LeftState }) => ({ type: 'task_cancelled', from: params.from })),
  },
}).createMachine({
  id: 'task',
  context: ({ input }) => input,
  initial: 'queued',
  states: {
    queued: {
      on: {
        LEASE: { target: 'leased', actions: ['grant', 'emitLeased'] },
        CANCEL: {
          target: 'cancelled',
          actions: [{ type: 'emitCancelled', params: { from: 'queued' } }],
        },
      },
    },
    leased: {
      on: {
        START: { target: 'running', actions: ['start', 'emitStarted'] },
        RETURN: {
          target: 'queued',
          actions: [
            'takeBackAttempt',
            'release',
            { type: 'emitRequeued', params: { from: 'leased', reason: 'undelivered' } },
          ],
        },
        FAIL: [
          {
            guard: 'mayRetryFailure',
            target: 'queued',
            actions: [
              'keepReport',
              'keepError',
              { type: 'emitFailed', params: { from: 'leased', requeued: true } },
              'release',
              { type: 'emitRequeued', params: { from: 'leased', reason: 'failure' } },
            ],
          },
          {
            target: 'failed',
            actions: [
              'keepReport',
              'keepError',
              { type: 'emitFailed', params: { from: 'leased', requeued: false } },
            ],
          },
        ],
        LAPSE: { target: 'lost', actions: [{ type: 'emitLost', params: { from: 'leased' } }] },
        CANCEL: {
          target: 'cancelled',
          actions: ['endLease', { type: 'emitCancelled', params: { from: 'leased' } }],
        },
      },
    },
    running: {
      initial: 'executing',
      states: {
        executing: {
          on: {
            COMPLETE: { target: '#task.succeeded', actions: ['keepResult', 'emitCompleted'] },
            FAIL: [
              {
                guard: 'mayRetryFailure',
                target: '#task.queued',
                actions: [
                  'keepReport',
                  'keepError',
                  { type: 'emitFailed', params: { from: 'running', requeued: true } },
                  'release',
                  { type: 'emitRequeued', params: { from: 'running', reason: 'failure' } },
                ],
              },
              {
                target: '#task.failed',
                actions: [
                  'keepReport',
                  'keepError',
                  { type: 'emitFailed', params: { from: 'running', requeued: false } },
                ],
              },
            ],
            TIMEOUT: [
              {
                guard: 'attemptsRemain',
                target: '#task.queued',
                actions: [
                  'keepError',
                  { type: 'emitFailed', params: { from: 'running', requeued: true } },
                  'release',
                  { type: 'emitRequeued', params: { from: 'running', reason: 'failure' } },
                ],
              },
              {
                target: '#task.failed',
                actions: ['keepError', { type: 'emitFailed', params: { from: 'running', requeued: false } }],
              },
            ],
            LAPSE: { target: '#task.lost', actions: [{ type: 'emitLost', params: { from: 'running' } }] },
            CANCEL: { target: 'stopping' },
          },
        },
        stopping: {
          on: {
            COMPLETE: { target: '#task.cancelled', actions: ['keepReport'] },
            FAIL: { target: '#task.cancelled', actions: ['keepReport'] },
            LAPSE: { target: '#task.cancelled' },
            TIMEOUT: { target: '#task.cancelled' },
          },
          exit: ['endLease', { type: 'emitCancelled', params: { from: 'running' } }],
        },
      },
    },
    lost: {
      entry: ['keepError'],
      always: [
        {
          guard: 'attemptsRemain',
          target: 'queued',
          actions: ['release', { type: 'emitRequeued', params: { from: 'lost', reason: 'lease_lapsed' } }],
        },
        {
          target: 'failed',
          actions: [{ type: 'emitFailed', params: { from: 'lost', requeued: false } }],
        },
      ],
    },
    succeeded: { type: 'final' },
    failed: {
      on: {
        RETRY: {
          target: 'queued',
          actions: [
            'allowMoreAttempts',
            'release',
            { type: 'emitRequeued', params: { from: 'failed', reason: 'retry' } },
          ],
        },
      },
    },
    cancelled: { type: 'final' },
  },
});

/** The chart, its steps looked up. */
export const taskMachine = tabled(chart);
