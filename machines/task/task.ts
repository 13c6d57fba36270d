import { assertEvent, assign, emit, setup } from 'xstate';
import { HELD_STATUSES } from '../schema/statuses.ts';
import type { TaskStatus } from '../schema/views.ts';
import { backoffFrom, isFree, isTriedAgain } from './failure.ts';
import type {
  AcceptedReport,
  LeaseEnd,
  RequeueReason,
  ReusedFrom,
  TaskContext,
  TaskEmission,
  TaskEvent,
  TaskReport,
} from './types.ts';

export type * from './types.ts';

const held: readonly TaskStatus[] = HELD_STATUSES;

/** Whether a worker holds a task in this status: it takes one of the worker's slots, and its lease expires. */
export const isHeld = ({ status }: { status: TaskStatus }): boolean => held.includes(status);

const LOST = 'the worker fell silent and the lease expired';

/** With the answer that each repetition of the report gets as well. */
const accepted = ({ worker_id, attempt, verb }: TaskReport, requeued: boolean): AcceptedReport => ({
  worker_id,
  attempt,
  verb,
  answer: verb === 'fail' ? { ok: true, requeued } : { ok: true },
});

const parts = setup({
  types: {
    context: {} as TaskContext,
    events: {} as TaskEvent,
    emitted: {} as TaskEmission,
    input: {} as TaskContext,
  },
  guards: {
    attemptsRemain: ({ context }) => context.attempt < context.max_attempts,
    isUntried: ({ context }) => context.attempt === 0,
    isTriedAgain: ({ context, event }) => {
      assertEvent(event, 'FAIL');
      return isTriedAgain(context, event);
    },
  },
  actions: {
    grant: assign(({ context, event }) => {
      assertEvent(event, 'LEASE');
      return {
        attempt: context.attempt + 1,
        worker_id: event.worker_id,
        lease_expires_at: event.lease_expires_at,
        started_at: null,
        not_before: null,
      };
    }),
    takeBackAttempt: assign(({ context }) => ({ attempt: context.attempt - 1 })),
    /** Its worker has seen the number, so that it counts on; one more is allowed for it. */
    allowAnother: assign(({ context }) => ({
      max_attempts: context.max_attempts + 1,
      take_backs: context.take_backs + 1,
    })),
    release: assign({ worker_id: null, lease_expires_at: null }),
    start: assign(({ event }) => {
      assertEvent(event, 'START');
      return { started_at: event.now, last_report: accepted(event.report, false) };
    }),
    keepReport: assign(({ event }, { requeued }: { requeued: boolean }) => {
      assertEvent(event, ['COMPLETE', 'FAIL', 'GIVE_BACK']);
      return { last_report: accepted(event.report, requeued) };
    }),
    keepResult: assign(({ event }) => {
      assertEvent(event, 'COMPLETE');
      return {
        result: event.result,
        rank_value: event.rank_value,
        rank_others: event.rank_others,
        model_artifact_id: event.model_artifact_id,
        error: null,
        lease_expires_at: null,
        last_report: accepted(event.report, false),
      };
    }),
    takeResult: assign(({ event }) => {
      assertEvent(event, 'REUSED');
      return {
        result: event.result,
        rank_value: event.rank_value,
        rank_others: event.rank_others,
        model_artifact_id: event.model_artifact_id,
        reused_from: event.reused_from,
      };
    }),
    keepError: assign({
      error: ({ event }) => ('error' in event ? event.error : LOST),
      lease_expires_at: null,
    }),
    /** A fault of the worker's own costs nothing but the way there: one more attempt is allowed for it. */
    chargeFailure: assign(({ context, event }) => {
      assertEvent(event, ['FAIL', 'TIMEOUT']);
      if (event.type === 'TIMEOUT' || event.fault !== 'worker')
        return { not_before: backoffFrom(event.now, context) };
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
    allowMoreAttempts: assign(({ context, event }) => {
      assertEvent(event, 'RETRY');
      return {
        max_attempts: context.max_attempts + event.extra_attempts,
        error: null,
        not_before: null,
        avoids: [],
      };
    }),
    emitLeaseStarted: emit(({ context }) => ({
      type: 'lease_started',
      worker_id: context.worker_id as string,
    })),
    emitLeaseEnded: emit(({ context }, { why }: { why: LeaseEnd }) => ({
      type: 'lease_ended',
      worker_id: context.worker_id as string,
      why,
    })),
    emitStopRequested: emit({ type: 'stop_requested' }),
    emitLeased: emit({ type: 'task_leased' }),
    emitStarted: emit({ type: 'task_started' }),
    emitCompleted: emit(({ context, event }) => {
      assertEvent(event, 'COMPLETE');
      return {
        type: 'task_completed',
        metrics: event.metrics,
        rank_value: context.rank_value,
        rank_others: context.rank_others,
        model_artifact_id: context.model_artifact_id,
      };
    }),
    emitReused: emit(({ context, event }) => {
      assertEvent(event, 'REUSED');
      return {
        type: 'task_reused',
        metrics: event.metrics,
        rank_value: context.rank_value,
        rank_others: context.rank_others,
        model_artifact_id: context.model_artifact_id,
        reused_from: context.reused_from as ReusedFrom,
      };
    }),
    emitFailed: emit(({ event }, { requeued }: { requeued: boolean }) => ({
      type: 'task_failed',
      error: 'error' in event ? event.error : LOST,
      retriable: event.type === 'FAIL' ? event.retriable : true,
      requeued,
      fault: event.type === 'FAIL' ? event.fault : event.type === 'GIVE_UP' ? 'worker' : 'task',
      ...(event.type === 'FAIL' && event.missing_path !== undefined
        ? { missing_path: event.missing_path }
        : {}),
      ...(event.type === 'FAIL' && event.traceback !== undefined ? { traceback: event.traceback } : {}),
    })),
    emitLost: emit({ type: 'task_lost' }),
    emitRequeued: emit((_, { reason }: { reason: RequeueReason }) => ({ type: 'task_requeued', reason })),
    emitCancelled: emit({ type: 'task_cancelled' }),
  },
});

const ended = <Why extends LeaseEnd>(why: Why) => ({ type: 'emitLeaseEnded', params: { why } }) as const;

/* What has ended is said before the lease of it has: a worker may have nothing more to do from then on, and says so. */

/** An attempt failed, and another follows. */
const goingBack = (why: LeaseEnd) =>
  [
    'keepError',
    { type: 'emitFailed', params: { requeued: true } },
    'chargeFailure',
    { type: 'emitRequeued', params: { reason: 'failure' } },
    ended(why),
    'release',
  ] as const;

/** An attempt failed, and none follows. */
const givingUp = ['keepError', { type: 'emitFailed', params: { requeued: false } }] as const;

/** A failure counts alike whether the attempt was started or not. */
const failing = [
  {
    guard: 'isTriedAgain',
    target: '#task.queued',
    actions: [{ type: 'keepReport', params: { requeued: true } }, ...goingBack('reported')],
  },
  {
    target: '#task.failed',
    actions: [{ type: 'keepReport', params: { requeued: false } }, ...givingUp, ended('reported')],
  },
] as const;

const expiring = { target: '#task.lost', actions: 'emitLost' } as const;

const takingBack = {
  target: '#task.queued',
  actions: [
    'allowAnother',
    { type: 'emitRequeued', params: { reason: 'taken_back' } },
    ended('taken_back'),
    'release',
  ],
} as const;

const givingBack = {
  target: '#task.queued',
  actions: [
    { type: 'keepReport', params: { requeued: true } },
    'allowAnother',
    { type: 'emitRequeued', params: { reason: 'preempted' } },
    ended('reported'),
    'release',
  ],
} as const;

/** A report of an attempt that was to be ended is remembered; its outcome is not. */
const stopped = {
  target: '#task.cancelled',
  actions: [{ type: 'keepReport', params: { requeued: false } }, ended('reported')],
} as const;

/**
 * One task (docs/semantics.md#tasks). `lost` is passed through: it resolves at once to `queued` or
 * `failed`. `running.stopping` is a running task of a cancelled job: whatever ends it, it ends cancelled.
 */
export const taskMachine = parts.createMachine({
  id: 'task',
  context: ({ input }) => input,
  initial: 'queued',
  states: {
    queued: {
      on: {
        LEASE: { target: 'leased', actions: ['grant', 'emitLeaseStarted', 'emitLeased'] },
        // Before it was ever leased: what was computed before is its result.
        REUSED: { guard: 'isUntried', target: 'succeeded', actions: ['takeResult', 'emitReused'] },
        CANCEL: { target: 'cancelled', actions: ['stopWaiting', 'emitCancelled'] },
        GIVE_UP: { target: 'failed', actions: ['stopWaiting', ...givingUp] },
      },
    },
    leased: {
      on: {
        START: { target: 'running', actions: ['start', 'emitStarted'] },
        UNDELIVERED: {
          target: 'queued',
          actions: [
            'takeBackAttempt',
            { type: 'emitRequeued', params: { reason: 'undelivered' } },
            ended('undelivered'),
            'release',
          ],
        },
        TAKE_BACK: takingBack,
        FAIL: failing,
        GIVE_BACK: givingBack,
        LEASE_EXPIRED: expiring,
        CANCEL: { target: 'cancelled', actions: ['endLease', 'emitCancelled', ended('cancelled')] },
      },
    },
    running: {
      initial: 'executing',
      states: {
        executing: {
          on: {
            COMPLETE: {
              target: '#task.succeeded',
              actions: ['keepResult', 'emitCompleted', ended('reported')],
            },
            FAIL: failing,
            GIVE_BACK: givingBack,
            TIMEOUT: [
              {
                guard: 'attemptsRemain',
                target: '#task.queued',
                actions: goingBack('timed_out'),
              },
              { target: '#task.failed', actions: [...givingUp, ended('timed_out')] },
            ],
            LEASE_EXPIRED: expiring,
            TAKE_BACK: takingBack,
            CANCEL: { target: 'stopping', actions: 'emitStopRequested' },
          },
        },
        stopping: {
          on: {
            COMPLETE: stopped,
            FAIL: stopped,
            GIVE_BACK: stopped,
            // Its worker fell silent and holds nothing any more.
            LEASE_EXPIRED: { target: '#task.cancelled', actions: [ended('expired'), 'release'] },
            TAKE_BACK: { target: '#task.cancelled', actions: [ended('taken_back'), 'release'] },
            TIMEOUT: { target: '#task.cancelled', actions: ended('timed_out') },
          },
          exit: ['endLease', 'emitCancelled'],
        },
      },
    },
    lost: {
      entry: 'keepError',
      always: [
        {
          guard: 'attemptsRemain',
          target: 'queued',
          actions: [
            { type: 'emitRequeued', params: { reason: 'lease_lapsed' } },
            ended('expired'),
            'release',
          ],
        },
        {
          target: 'failed',
          actions: [{ type: 'emitFailed', params: { requeued: false } }, ended('expired')],
        },
      ],
    },
    succeeded: { type: 'final' },
    failed: {
      on: {
        RETRY: {
          target: 'queued',
          actions: ['allowMoreAttempts', 'release', { type: 'emitRequeued', params: { reason: 'retry' } }],
        },
      },
    },
    cancelled: { type: 'final' },
  },
});
