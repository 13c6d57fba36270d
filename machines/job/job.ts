import { assertEvent, assign, emit, setup } from 'xstate';
import {
  type Choice,
  decidedOn,
  hasOutcome,
  lacksRefit,
  phaseOf,
  type Selection,
  withRefitsAnew,
  withRefitTask,
  withVariants,
} from './selection.ts';
import {
  countMove,
  type Decision,
  decisionOn,
  failureOf,
  isOver,
  numEnded,
  selectionAfter,
  selects,
  withSuccess,
} from './steps.ts';
import type { JobContext, JobEmission, JobEvent } from './types.ts';

export type * from './types.ts';

/**
 * One job (docs/semantics.md#jobs). It becomes running when its first task is leased and ends when all
 * its tasks have ended: cancelled if it was cancelling, else succeeded if one succeeded, else failed. What a person
 * asks for is told to its tasks slice by slice; in the states in which that goes on, none of them is leased.
 *
 * A job that selects goes through phases below `running`. As soon as all variants on a dataset have ended, the best of
 * them is selected, and the one who queues tasks is told to queue the one that refits it.
 */
const parts = setup({
  types: {
    context: {} as JobContext,
    events: {} as JobEvent,
    emitted: {} as JobEmission,
    input: {} as JobContext,
  },
  guards: {
    /** The task that this event is about is the last one to end. */
    isLast: ({ context }) => numEnded(context) + 1 === context.num_tasks,
    /** The same of a job in which nothing follows from the end of its tasks. */
    isLastOfAll: ({ context }) => !selects(context) && numEnded(context) + 1 === context.num_tasks,
    hasSomethingToRetry: ({ context }) =>
      context.counts.failed > 0 || (context.selection !== null && lacksRefit(context.selection)),
    allEnded: ({ context }) => numEnded(context) === context.num_tasks,
    allReused: ({ context }) => !selects(context) && numEnded(context) === context.num_tasks,
    isLastAndOneSucceeded: ({ context }) =>
      !selects(context) && context.counts.succeeded > 0 && numEnded(context) + 1 === context.num_tasks,
    asksForReuse: ({ event }) => {
      assertEvent(event, 'VARIANTS_ADDED');
      return event.reuse;
    },
    isLastAndOneFailed: ({ context }) =>
      !selects(context) && context.counts.failed > 0 && numEnded(context) + 1 === context.num_tasks,
    isSelecting: ({ context }) => context.selection !== null,
    isExpanding: ({ context }) => context.selection !== null && phaseOf(context.selection) === 'expanding',
    isExploring: ({ context }) => context.selection !== null && phaseOf(context.selection) === 'exploring',
    isRefitting: ({ context }) => context.selection !== null && phaseOf(context.selection) === 'refitting',
    canSelect: ({ context }) => typeof decisionOn(context)?.made === 'object',
    cannotSelect: ({ context }) => typeof decisionOn(context)?.made === 'string',
    /** Nothing is left to do, and for some dataset there is what was asked for. */
    isDone: ({ context }) => isOver(context) && hasOutcome(context.selection as Selection),
    isOver: ({ context }) => isOver(context),
    allCancelled: ({ context }) => isOver(context) && context.counts.cancelled === context.num_tasks,
  },
  actions: {
    count: assign(({ context, event }) => {
      assertEvent(event, ['TASK_LEASED', 'TASK_STARTED', 'TASK_REQUEUED', 'TASK_FAILED', 'TASK_CANCELLED']);
      return {
        counts: countMove(context.counts, event),
        ...(context.selection !== null && { selection: selectionAfter(context, event) }),
      };
    }),
    countAndRank: assign(({ context, event }) => {
      assertEvent(event, 'TASK_SUCCEEDED');
      return {
        counts: countMove(context.counts, event),
        standings: withSuccess(context.standings, context.selection, event),
        ...(context.selection !== null && { selection: selectionAfter(context, event) }),
        num_reused: context.num_reused + Number(event.from === 'queued'),
      };
    }),
    keepError: assign({
      error: ({ event }) => {
        assertEvent(event, 'TASK_FAILED');
        return event.error;
      },
    }),
    keepFailure: assign({ error: ({ context }) => failureOf(context) }),
    /** What failed before a retry of others is no longer in words. */
    keepAnyError: assign({ error: ({ context }) => context.error ?? 'its tasks failed or were cancelled' }),
    clearError: assign({ error: null }),
    addVariants: assign(({ context, event }) => {
      assertEvent(event, 'VARIANTS_ADDED');
      if (context.selection === null) return {};
      const more = event.variants * context.selection.datasets.length;
      return {
        num_tasks: context.num_tasks + more,
        counts: { ...context.counts, queued: context.counts.queued + more },
        selection: withVariants(context.selection, event.variants),
      };
    }),
    addRefit: assign(({ context, event }) => {
      assertEvent(event, 'REFIT_ADDED');
      if (context.selection === null) return {};
      return {
        num_tasks: context.num_tasks + 1,
        counts: { ...context.counts, queued: context.counts.queued + 1 },
        selection: withRefitTask(context.selection, event.dataset, event.task_id),
      };
    }),
    takeDecision: assign(({ context }) => {
      const { selection, dataset, made } = decisionOn(context) as Decision;
      return { selection: decidedOn(selection, dataset, made) };
    }),
    reopenRefits: assign(({ context: { selection } }) =>
      selection === null ? {} : { selection: withRefitsAnew(selection) },
    ),
    emitVariantsFound: emit(({ event }) => {
      assertEvent(event, 'VARIANTS_ADDED');
      return { type: 'variants_found', variants: event.variants };
    }),
    emitSelected: emit(({ context }) => {
      const { dataset, made } = decisionOn(context) as Decision;
      return { type: 'variant_selected', dataset, choice: made as Choice };
    }),
    emitUnselected: emit(({ context }) => {
      const { dataset, made } = decisionOn(context) as Decision;
      return { type: 'selection_failed', dataset, error: made as string };
    }),
    emitRefitQueued: emit(({ event }) => {
      assertEvent(event, 'REFIT_ADDED');
      return { type: 'refit_queued', dataset: event.dataset, task_id: event.task_id };
    }),
    emitRunning: emit({ type: 'job_running' }),
    emitSucceeded: emit({ type: 'job_succeeded' }),
    emitFailed: emit(({ context }) => ({ type: 'job_failed', error: context.error ?? 'all tasks failed' })),
    emitCancelled: emit({ type: 'job_cancelled' }),
    emitRetried: emit({ type: 'job_retried' }),
  },
});

/** Of each dataset whose variants have ended, one after the other. */
const deciding = [
  { guard: 'canSelect', actions: ['emitSelected', 'takeDecision'] },
  { guard: 'cannotSelect', actions: ['emitUnselected', 'takeDecision'] },
] as const;

/** Once all are decided and what followed from it has ended. */
const ending = [
  { guard: 'isDone', target: '#job.succeeded', actions: ['clearError', 'emitSucceeded'] },
  { guard: 'allCancelled', target: '#job.cancelled', actions: ['clearError', 'emitCancelled'] },
  { guard: 'isOver', target: '#job.failed', actions: ['keepFailure', 'emitFailed'] },
] as const;

/** One more task has failed for good; with the last of them the job ends. */
const failing = [
  {
    guard: 'isLastAndOneSucceeded',
    target: '#job.succeeded',
    actions: ['count', 'clearError', 'emitSucceeded'],
  },
  { guard: 'isLastOfAll', target: '#job.failed', actions: ['count', 'keepError', 'emitFailed'] },
  { actions: ['count', 'keepError'] },
] as const;

/** One task by itself was cancelled; a job all of whose tasks were is cancelled, too. */
const losing = [
  {
    guard: 'isLastAndOneSucceeded',
    target: '#job.succeeded',
    actions: ['count', 'clearError', 'emitSucceeded'],
  },
  { guard: 'isLastAndOneFailed', target: '#job.failed', actions: ['count', 'keepAnyError', 'emitFailed'] },
  { guard: 'isLastOfAll', target: '#job.cancelled', actions: ['count', 'clearError', 'emitCancelled'] },
  { actions: 'count' },
] as const;

/** What happens to tasks while there may be more of them to come. */
const counting = {
  TASK_SUCCEEDED: { actions: 'countAndRank' },
  TASK_FAILED: { actions: ['count', 'keepError'] },
  TASK_CANCELLED: { actions: 'count' },
  REFIT_ADDED: { actions: ['addRefit', 'emitRefitQueued'] },
} as const;

export const jobMachine = parts.createMachine({
  id: 'job',
  context: ({ input }) => input,
  initial: 'queued',
  states: {
    queued: {
      initial: 'ready',
      states: {
        ready: {
          always: [...deciding, ...ending],
          on: {
            TASK_LEASED: [
              { guard: 'isExpanding', target: '#job.running.expanding', actions: ['count', 'emitRunning'] },
              { guard: 'isExploring', target: '#job.running.exploring', actions: ['count', 'emitRunning'] },
              { guard: 'isRefitting', target: '#job.running.refitting', actions: ['count', 'emitRunning'] },
              { target: '#job.running.computing', actions: ['count', 'emitRunning'] },
            ],
            // It refits what was selected, and has the result of an equal one.
            TASK_SUCCEEDED: { guard: 'isSelecting', actions: 'countAndRank' },
            REFIT_ADDED: { guard: 'isSelecting', actions: ['addRefit', 'emitRefitQueued'] },
            // No worker could run it, so that it ends without having been leased.
            TASK_FAILED: failing,
            TASK_CANCELLED: losing,
            CANCEL: { target: '#job.cancelling' },
          },
        },
        /** Its tasks are given the results that equal ones have, one after the other, where there are such. */
        reusing: {
          on: {
            TASK_SUCCEEDED: { actions: 'countAndRank' },
            BULK_DONE: [
              { guard: 'allReused', target: '#job.succeeded', actions: 'emitSucceeded' },
              { target: 'ready' },
            ],
            CANCEL: { target: '#job.cancelling' },
          },
        },
        /** Its failed tasks come back. */
        requeuing: {
          on: {
            TASK_REQUEUED: { actions: 'count' },
            BULK_DONE: { target: 'ready' },
            CANCEL: { target: '#job.cancelling.requeuing' },
          },
        },
      },
    },
    running: {
      initial: 'computing',
      on: {
        TASK_LEASED: { actions: 'count' },
        TASK_STARTED: { actions: 'count' },
        TASK_REQUEUED: { actions: 'count' },
        CANCEL: { target: 'cancelling' },
      },
      states: {
        computing: {
          on: {
            TASK_SUCCEEDED: [
              {
                guard: 'isLastOfAll',
                target: '#job.succeeded',
                actions: ['countAndRank', 'clearError', 'emitSucceeded'],
              },
              { actions: 'countAndRank' },
            ],
            TASK_FAILED: failing,
            TASK_CANCELLED: losing,
          },
        },
        /** A task has its library find the variants. */
        expanding: {
          on: {
            TASK_SUCCEEDED: { actions: 'countAndRank' },
            TASK_FAILED: { target: '#job.failed', actions: ['count', 'keepError', 'emitFailed'] },
            TASK_CANCELLED: { target: '#job.cancelled', actions: ['count', 'clearError', 'emitCancelled'] },
            VARIANTS_ADDED: [
              {
                guard: 'asksForReuse',
                target: 'reusing',
                actions: ['addVariants', 'emitVariantsFound'],
              },
              { target: 'exploring', actions: ['addVariants', 'emitVariantsFound'] },
            ],
          },
        },
        /** As below `queued`, but with the variants that were found meanwhile. */
        reusing: {
          on: { TASK_SUCCEEDED: { actions: 'countAndRank' }, BULK_DONE: { target: 'exploring' } },
        },
        /** Of some dataset there are variants that have not ended. */
        exploring: {
          always: [...deciding, { guard: 'isRefitting', target: 'refitting' }],
          on: counting,
        },
        /** What was selected of each dataset is refitted. */
        refitting: { always: ending, on: counting },
      },
    },
    cancelling: {
      initial: 'telling',
      on: {
        // It ends with the last task that has to stop; perhaps none has.
        BULK_DONE: [
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
        RETRY: {
          guard: 'hasSomethingToRetry',
          target: 'queued.requeuing',
          actions: ['reopenRefits', 'emitRetried'],
        },
      },
    },
    failed: {
      on: {
        RETRY: { target: 'queued.requeuing', actions: ['clearError', 'reopenRefits', 'emitRetried'] },
      },
    },
  },
});
