import { matchesState, type StateValue } from 'xstate';
import type { ActiveTask } from '../schema/worker.ts';
import { duty } from './duty.ts';
import { leisure } from './leisure.ts';
import { link } from './link.ts';
import { notice } from './notice.ts';
import { agent, healthToNote } from './setup.ts';
import type { AgentContext } from './types.ts';

/**
 * The worker program. Four things go on at once: the link to the server (registering, connected, away), the duty
 * (serving, draining, stopping), the notice of its end, and whether there is anything to do. Only an agent that is both
 * connected and serving asks for leases.
 */
export const agentMachine = agent.createMachine({
  id: 'agent',
  context: ({ input }) => ({
    ...input,
    registered: null,
    runs: {},
    linkFailures: 0,
    leaseFailures: 0,
    linkError: null,
    failure: null,
    faults: 0,
    selfTests: 0,
    suspended: null,
    woken: false,
    retiring: false,
  }),
  output: ({ context }) => ({ failure: context.failure }),
  initial: 'active',
  states: {
    active: {
      type: 'parallel',
      on: {
        CANCEL: { actions: { type: 'cancelRuns', params: ({ event }) => event.tasks } },
        RETIRE: { actions: ['noteRetiring', 'endCalmly'] },
        WOKE: { actions: 'noteWoken' },
        SAVED: {
          actions: [
            { type: 'noteSaved', params: ({ event }) => event.key },
            { type: 'noteHealth', params: ({ event }) => event.health },
          ],
        },
        'xstate.done.actor.*': {
          guard: { type: 'isRun', params: ({ event }) => event.actorId },
          actions: [
            {
              type: 'noteHealth',
              params: ({ context, event }) => healthToNote(context, event.actorId, event.output),
            },
            { type: 'forgetRun', params: ({ event }) => event.actorId },
            { type: 'dropRun', params: ({ event }) => event.actorId },
          ],
        },
        'xstate.error.actor.*': {
          guard: { type: 'isRun', params: ({ event }) => event.actorId },
          actions: [
            { type: 'forgetRun', params: ({ event }) => event.actorId },
            { type: 'dropRun', params: ({ event }) => event.actorId },
          ],
        },
      },
      states: { link, duty, notice, leisure },
    },
    stopped: { type: 'final' },
  },
});

/** Whether the program was told to end, and takes no more tasks. */
export const isLeaving = ({ value }: { value: unknown }): boolean =>
  matchesState({ active: { duty: 'draining' } }, value as StateValue) ||
  matchesState({ active: { duty: 'stopping' } }, value as StateValue);

/**
 * The list that a heartbeat carries (docs/protocol.md#heartbeat). A saved result that this program has of another
 * worker, as a copy of a state directory has, is delivered all the same; but its lease is not this worker's to renew.
 */
export function activeOf({ runs, registered }: Pick<AgentContext, 'runs' | 'registered'>): ActiveTask[] {
  return Object.values(runs)
    .filter(({ ref, saved }) => !saved || ref.worker_id === registered?.worker_id)
    .map(({ ref, stopping }) => ({
      task_id: ref.task_id,
      attempt: ref.attempt,
      ...(stopping && { stopping }),
    }));
}
