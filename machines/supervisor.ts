import { assign, setup } from 'xstate';

export interface SupervisorContext {
  /** Commits that failed in a row. */
  failures: number;
  /** Why the last commit failed; null when it worked. */
  fault: string | null;
}

export type SupervisorEvent =
  | { type: 'RECOVERED' }
  | { type: 'COMMITTED' }
  | { type: 'COMMIT_FAILED'; fault: string }
  | { type: 'DRAIN' }
  | { type: 'DRAINED' };

/**
 * The supervisor itself: `recovering → serving ⇄ degraded → draining → stopped`. Degraded means that the
 * store cannot commit: writers get 503, reads and heartbeats go on, until a commit works again.
 */
export const supervisorMachine = setup({
  types: { context: {} as SupervisorContext, events: {} as SupervisorEvent },
  actions: {
    noteFailure: assign(({ context, event }) => ({
      failures: context.failures + 1,
      fault: event.type === 'COMMIT_FAILED' ? event.fault : context.fault,
    })),
    clearFailure: assign({ failures: 0, fault: null }),
  },
}).createMachine({
  id: 'supervisor',
  context: { failures: 0, fault: null },
  initial: 'recovering',
  states: {
    recovering: {
      on: { RECOVERED: { target: 'serving' }, DRAIN: { target: 'stopped' } },
    },
    serving: {
      on: {
        COMMIT_FAILED: { target: 'degraded', actions: 'noteFailure' },
        DRAIN: { target: 'draining' },
      },
    },
    degraded: {
      on: {
        COMMITTED: { target: 'serving', actions: 'clearFailure' },
        COMMIT_FAILED: { actions: 'noteFailure' },
        DRAIN: { target: 'draining' },
      },
    },
    draining: {
      on: {
        DRAINED: { target: 'stopped' },
        COMMIT_FAILED: { actions: 'noteFailure' },
        COMMITTED: { actions: 'clearFailure' },
      },
    },
    stopped: { type: 'final' },
  },
});
