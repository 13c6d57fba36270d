import { assign, type PromiseActorLogic, sendTo, setup } from 'xstate';
import { type FailReport, PREEMPTED } from '../schema/report.ts';
import type {
  AttemptContext,
  AttemptEvent,
  AttemptInput,
  AttemptOutput,
  AttemptRef,
  AttemptSaved,
  Failed,
  Lease,
  Outcome,
  ReportOutcome,
  StopReason,
} from './types.ts';

export type * from './types.ts';

/** The impure steps, provided by `actors/worker`. Each ends when its state is left: its signal is aborted. */
type AttemptActors = {
  reportStart: PromiseActorLogic<ReportOutcome | Failed, Lease>;
  /** Puts every input in place; null when all is there, else the failure. */
  materialize: PromiseActorLogic<Failed | null, Lease>;
  /** Resolves after so many seconds; never for null. */
  deadline: PromiseActorLogic<void, number | null>;
  /** Runs the analysis child to its end. */
  runChild: PromiseActorLogic<Outcome, Lease>;
  /** Resolves once nothing of the attempt runs any more. */
  stopWork: PromiseActorLogic<void, AttemptRef>;
  /** Makes the outcome durable, with the files that go with it. */
  save: PromiseActorLogic<void, { ref: AttemptRef; outcome: Outcome; lease: Lease | null }>;
  upload: PromiseActorLogic<{ verdict: ReportOutcome; artifacts: Record<string, string> }, AttemptRef>;
  report: PromiseActorLogic<
    ReportOutcome,
    { ref: AttemptRef; outcome: Outcome; artifacts: Record<string, string> }
  >;
  /** Removes everything that the attempt left on disk. */
  clean: PromiseActorLogic<void, AttemptRef>;
};

/**
 * One attempt at a task, from its lease to the server's acknowledgement. `start` is reported first, so that
 * the server's task is running while inputs are still on their way (docs/protocol.md#reports).
 */
export const attemptMachine = setup({
  types: {} as { context: AttemptContext; input: AttemptInput; events: AttemptEvent; output: AttemptOutput },
  actors: {} as AttemptActors,
  guards: {
    isSettled: ({ context }) => context.outcome !== null,
    isDeferred: ({ context }) => context.deferring,
    isReady: (_, failure: Failed | null) => failure === null,
    hasFailed: (_, answer: ReportOutcome | Failed) => typeof answer === 'object',
    isNotOurs: (_, verdict: ReportOutcome | Failed) => verdict === 'not_ours',
    /** A cancellation makes uploads pointless, except those of an attempt that was stopped before. */
    isNewlyCancelled: ({ context }, reason: StopReason) =>
      reason === 'cancelled' && context.stopping !== 'cancelled',
  },
  actions: {
    noteStop: assign({ stopping: (_, reason: StopReason) => reason }),
    noteDeferred: assign({ deferring: true }),
    settle: assign({ outcome: (_, outcome: Outcome) => outcome }),
    settleAsFailed: assign({
      outcome: (_, failure: FailReport): Outcome => ({ verb: 'fail', failure }),
    }),
    settleAsStopped: assign({
      outcome: ({ context }): Outcome => ({ verb: 'fail', failure: stopFailure(context) }),
    }),
    noteArtifacts: assign({ artifacts: (_, artifacts: Record<string, string>) => artifacts }),
    noteEnd: assign({ ended: (_, ended: AttemptOutput['ended']) => ended }),
    /** The worker may go on with another task while the outcome of this one travels. */
    tellSaved: sendTo(
      ({ self }) => self._parent ?? self,
      ({ context }): AttemptSaved => ({
        type: 'SAVED',
        key: attemptKey(context.ref),
        health: healthOf(context),
      }),
    ),
  },
  delays: {
    longestStop: 60_000,
  },
}).createMachine({
  id: 'run',
  context: ({ input }) => ({
    ref: input.kind === 'leased' ? input.lease.ref : input.ref,
    lease: input.kind === 'leased' ? input.lease : null,
    outcome: input.kind === 'saved' ? input.outcome : null,
    stopping: null,
    deferring: false,
    artifacts: {},
    ended: 'reported',
  }),
  output: ({ context }) => ({ ref: context.ref, ended: context.ended, health: healthOf(context) }),
  initial: 'entering',
  on: { DEFER: { actions: 'noteDeferred' } },
  states: {
    entering: {
      always: [{ guard: 'isSettled', target: 'uploading' }, { target: 'starting' }],
    },
    starting: {
      invoke: {
        src: 'reportStart',
        input: ({ context }) => leaseOf(context),
        onDone: [
          {
            guard: { type: 'isNotOurs', params: ({ event }) => event.output },
            target: 'cleaning',
            actions: { type: 'noteEnd', params: 'not_ours' },
          },
          {
            guard: { type: 'hasFailed', params: ({ event }) => event.output },
            target: 'saving',
            actions: { type: 'settle', params: ({ event }) => event.output as Failed },
          },
          { target: 'working' },
        ],
        onError: {
          target: 'saving',
          actions: { type: 'settleAsFailed', params: ({ event }) => failureOf(event.error) },
        },
      },
      on: {
        STOP: { target: 'cancelling', actions: { type: 'noteStop', params: ({ event }) => event.reason } },
      },
    },
    working: {
      initial: 'materializing',
      invoke: {
        src: 'deadline',
        input: ({ context }) => leaseOf(context).payload.timeout_seconds,
        onDone: { target: 'cancelling', actions: { type: 'noteStop', params: 'timed_out' } },
      },
      on: {
        STOP: { target: 'cancelling', actions: { type: 'noteStop', params: ({ event }) => event.reason } },
      },
      states: {
        materializing: {
          invoke: {
            src: 'materialize',
            input: ({ context }) => leaseOf(context),
            onDone: [
              { guard: { type: 'isReady', params: ({ event }) => event.output }, target: 'running' },
              {
                target: '#run.saving',
                actions: { type: 'settle', params: ({ event }) => event.output as Failed },
              },
            ],
            onError: {
              target: '#run.saving',
              actions: { type: 'settleAsFailed', params: ({ event }) => failureOf(event.error) },
            },
          },
        },
        running: {
          invoke: {
            src: 'runChild',
            input: ({ context }) => leaseOf(context),
            onDone: {
              target: '#run.saving',
              actions: { type: 'settle', params: ({ event }) => event.output },
            },
            onError: {
              target: '#run.saving',
              actions: { type: 'settleAsFailed', params: ({ event }) => failureOf(event.error) },
            },
          },
        },
      },
    },
    cancelling: {
      invoke: {
        src: 'stopWork',
        input: ({ context }) => context.ref,
        onDone: { target: 'saving', actions: 'settleAsStopped' },
        onError: { target: 'saving', actions: 'settleAsStopped' },
      },
      // What hangs in the kernel, as on a share that does not answer, must not hold its slot for ever.
      after: { longestStop: { target: 'saving', actions: 'settleAsStopped' } },
      on: { STOP: { actions: { type: 'noteStop', params: ({ event }) => event.reason } } },
    },
    saving: {
      invoke: {
        src: 'save',
        input: ({ context }) => ({ ref: context.ref, outcome: outcomeOf(context), lease: context.lease }),
        onDone: 'delivering',
        // What cannot be saved may still be delivered, from memory.
        onError: 'delivering',
      },
      on: {
        STOP: {
          guard: { type: 'isNewlyCancelled', params: ({ event }) => event.reason },
          actions: [{ type: 'noteStop', params: ({ event }) => event.reason }, 'settleAsStopped'],
        },
      },
    },
    delivering: {
      entry: 'tellSaved',
      always: [{ guard: 'isDeferred', target: 'deferred' }, { target: 'uploading' }],
    },
    uploading: {
      invoke: {
        src: 'upload',
        input: ({ context }) => context.ref,
        onDone: [
          {
            guard: { type: 'isNotOurs', params: ({ event }) => event.output.verdict },
            target: 'cleaning',
            actions: { type: 'noteEnd', params: 'not_ours' },
          },
          {
            target: 'reporting',
            actions: { type: 'noteArtifacts', params: ({ event }) => event.output.artifacts },
          },
        ],
        onError: 'reporting',
      },
      on: {
        STOP: {
          guard: { type: 'isNewlyCancelled', params: ({ event }) => event.reason },
          target: 'reporting',
          actions: [{ type: 'noteStop', params: ({ event }) => event.reason }, 'settleAsStopped'],
        },
        DEFER: 'deferred',
      },
    },
    reporting: {
      invoke: {
        src: 'report',
        input: ({ context }) => ({
          ref: context.ref,
          outcome: outcomeOf(context),
          artifacts: context.artifacts,
        }),
        onDone: [
          {
            guard: { type: 'isNotOurs', params: ({ event }) => event.output },
            target: 'cleaning',
            actions: { type: 'noteEnd', params: 'not_ours' },
          },
          { target: 'cleaning' },
        ],
        onError: 'deferred',
      },
      on: { DEFER: 'deferred' },
    },
    cleaning: {
      invoke: {
        src: 'clean',
        input: ({ context }) => context.ref,
        onDone: 'ended',
        onError: 'ended',
      },
    },
    deferred: { type: 'final', entry: { type: 'noteEnd', params: 'deferred' } },
    ended: { type: 'final' },
  },
});

/** The lease; states that ask for it are not entered without one. */
function leaseOf(context: AttemptContext): Lease {
  if (!context.lease) throw new Error(`attempt ${attemptKey(context.ref)} has no lease`);
  return context.lease;
}

function outcomeOf(context: AttemptContext): Outcome {
  if (!context.outcome) throw new Error(`attempt ${attemptKey(context.ref)} has no outcome`);
  return context.outcome;
}

/** Only of an attempt that this process ran. */
function healthOf({ lease, outcome }: AttemptContext): AttemptOutput['health'] {
  if (lease === null || outcome === null) return null;
  if (outcome.verb === 'complete') return { well: true };
  return outcome.own ? { well: false, why: outcome.failure.error } : null;
}

/** What names an attempt among all of a worker. */
export const attemptKey = (ref: { task_id: string; attempt: number }): string =>
  `${ref.task_id}#${ref.attempt}`;

/** With which a worker that has to end gives a task back. */
export const GIVEN_BACK: FailReport = {
  error: 'given back: its worker has to end',
  retriable: true,
  fault: 'worker',
  reason: PREEMPTED,
};

function stopFailure({ stopping, lease }: AttemptContext): FailReport {
  if (stopping === 'timed_out') {
    return { error: `timed out after ${lease?.payload.timeout_seconds} s`, retriable: true };
  }
  if (stopping === 'preempted') return GIVEN_BACK;
  if (stopping === 'superseded') {
    return { error: 'another copy of this worker took its place', retriable: true, fault: 'worker' };
  }
  return { error: 'cancelled', retriable: false };
}

function failureOf(error: unknown): FailReport {
  return { error: error instanceof Error ? error.message : String(error), retriable: true };
}
