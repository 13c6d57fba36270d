import { assign, emit, setup } from 'xstate';
import { tabled } from './tabled/tabled.ts';
import { backoffFrom, isFree, isTriedAgain } from './task-failure.ts';
import type { LeftState, ReusedFrom, TaskContext, TaskEmission, TaskEvent } from './task-types.ts';

export type * from './task-types.ts';

const LOST = 'the worker fell silent and the lease lapsed';

/**
 * One task (docs/semantics.md#tasks). `lost` is passed through: it resolves at once to `queued` or
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
    isUntried: ({ context }) => context.attempt === 0,
    isTriedAgain: ({ context, event }) => event.type === 'FAIL' && isTriedAgain(context, event),
  },
  actions: {
    grant: assign(({ context, event }) =>
      event.type === 'LEASE'
        ? {
            attempt: context.attempt + 1,
            worker_id: event.worker_id,
            lease_expires_at: event.lease_expires_at,
            started_at: null,
            not_before: null,
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
            rank_others: event.rank_others,
            model_artifact_id: event.model_artifact_id,
            error: null,
            lease_expires_at: null,
            last_report: event.report,
          }
        : {},
    ),
    takeResult: assign(({ event }) =>
      event.type === 'REUSED'
        ? {
            result: event.result,
            rank_value: event.rank_value,
            rank_others: event.rank_others,
            model_artifact_id: event.model_artifact_id,
            reused_from: event.reused_from,
          }
        : {},
    ),
    keepError: assign({
      error: ({ event }) => ('error' in event ? event.error : LOST),
      lease_expires_at: null,
    }),
    /** A fault of the worker's own costs nothing but the way there: one more attempt is allowed for it. */
    chargeFailure: assign(({ context, event }) => {
      if (event.type === 'TIMEOUT') return { not_before: backoffFrom(event.now, context) };
      if (event.type !== 'FAIL') return {};
      if (event.fault !== 'worker') return { not_before: backoffFrom(event.now, context) };
      const free = isFree(context, event);
      return {
        worker_faults: context.worker_faults + 1,
        avoids: [...context.avoids.filter((by) => by !== event.by), event.by],
        max_attempts: context.max_attempts + Number(free),
        not_before: free ? null : backoffFrom(event.now, context),
      };
    }),
    stopWaiting: assign({ not_before: null }),
    endLease: assign({ lease_expires_at: null }),
    allowMoreAttempts: assign(({ context, event }) =>
      event.type === 'RETRY'
        ? {
            max_attempts: context.max_attempts + event.extra_attempts,
            error: null,
            not_before: null,
            avoids: [],
          }
        : {},
    ),
    emitLeased: emit(({ context }) => ({ type: 'task_leased', worker_id: context.worker_id as string })),
    emitStarted: emit({ type: 'task_started' }),
    emitCompleted: emit(({ context, event }) => ({
      type: 'task_completed',
      metrics: event.type === 'COMPLETE' ? event.metrics : '{}',
      rank_value: context.rank_value,
      rank_others: context.rank_others,
      model_artifact_id: context.model_artifact_id,
    })),
    emitReused: emit(({ context, event }) => ({
      type: 'task_reused',
      metrics: event.type === 'REUSED' ? event.metrics : '{}',
      rank_value: context.rank_value,
      rank_others: context.rank_others,
      model_artifact_id: context.model_artifact_id,
      reused_from: context.reused_from as ReusedFrom,
    })),
    emitFailed: emit(({ event }, params: { from: LeftState; requeued: boolean }) => ({
      type: 'task_failed',
      from: params.from,
      error: 'error' in event ? event.error : LOST,
      retriable: event.type === 'FAIL' ? event.retriable : true,
      requeued: params.requeued,
      fault: event.type === 'FAIL' ? event.fault : event.type === 'GIVE_UP' ? 'worker' : 'task',
      ...(event.type === 'FAIL' && event.missing_path !== undefined
        ? { missing_path: event.missing_path }
        : {}),
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
        // Before it was ever leased: what was computed before is its result.
        REUSED: { guard: 'isUntried', target: 'succeeded', actions: ['takeResult', 'emitReused'] },
        CANCEL: {
          target: 'cancelled',
          actions: ['stopWaiting', { type: 'emitCancelled', params: { from: 'queued' } }],
        },
        GIVE_UP: {
          target: 'failed',
          actions: [
            'stopWaiting',
            'keepError',
            { type: 'emitFailed', params: { from: 'queued', requeued: false } },
          ],
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
            guard: 'isTriedAgain',
            target: 'queued',
            actions: [
              'keepReport',
              'keepError',
              { type: 'emitFailed', params: { from: 'leased', requeued: true } },
              'chargeFailure',
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
                guard: 'isTriedAgain',
                target: '#task.queued',
                actions: [
                  'keepReport',
                  'keepError',
                  { type: 'emitFailed', params: { from: 'running', requeued: true } },
                  'chargeFailure',
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
                  'chargeFailure',
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
            // Its worker fell silent and holds nothing any more.
            LAPSE: { target: '#task.cancelled', actions: 'release' },
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
