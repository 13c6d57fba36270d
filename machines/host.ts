import { assign, type CallbackActorLogic, type EventObject, sendTo, setup } from 'xstate';

export interface HostContext {
  /** Orders after which it is replaced. */
  most: number;
  /** Orders that it was given, ever. */
  served: number;
  /** Those that have not come to an end. */
  open: number;
  /** Whether it has ever loaded what it was asked to. */
  loaded: boolean;
  /** Why it is replaced, or gone; null while it is neither. */
  why: string | null;
}

export type HostEvent =
  | { type: 'LOADED' }
  /** An attempt was ordered from it. */
  | { type: 'ORDERED' }
  /** The attempt has ended, or starts cold. */
  | { type: 'SETTLED' }
  | { type: 'RETIRE'; why: string }
  /** The process has ended, however that came. */
  | { type: 'GONE'; why: string };

/**
 * The warm host of a runner: a process that has loaded the library, from which attempts are forked. One that is to
 * be replaced lives until its last attempt has ended; the next one takes the orders meanwhile.
 */
export const hostMachine = setup({
  types: {
    context: {} as HostContext,
    events: {} as HostEvent,
    input: {} as { most: number },
  },
  actors: { process: {} as CallbackActorLogic<EventObject> },
  guards: {
    servedEnough: ({ context }) => context.served >= context.most,
    nobodyLeft: ({ context }) => context.open === 0,
  },
  actions: {
    countOrder: assign(({ context }) => ({ served: context.served + 1, open: context.open + 1 })),
    countEnd: assign(({ context }) => ({ open: context.open - 1 })),
    noteLoaded: assign({ loaded: true }),
    noteWhy: assign((_, { why }: { why: string }) => ({ why })),
    noteServed: assign(({ context }) => ({ why: `it has served ${context.served} attempts` })),
    askToEnd: sendTo('process', { type: 'END' }),
  },
}).createMachine({
  id: 'host',
  context: ({ input }) => ({ most: input.most, served: 0, open: 0, loaded: false, why: null }),
  invoke: { src: 'process', id: 'process' },
  initial: 'loading',
  on: {
    SETTLED: { actions: 'countEnd' },
    GONE: { target: '.gone', actions: { type: 'noteWhy', params: ({ event }) => ({ why: event.why }) } },
  },
  states: {
    loading: {
      on: {
        LOADED: { target: 'ready', actions: 'noteLoaded' },
        ORDERED: { actions: 'countOrder' },
        RETIRE: {
          target: 'retiring',
          actions: { type: 'noteWhy', params: ({ event }) => ({ why: event.why }) },
        },
      },
    },
    ready: {
      always: { guard: 'servedEnough', target: 'retiring', actions: 'noteServed' },
      on: {
        ORDERED: { actions: 'countOrder' },
        RETIRE: {
          target: 'retiring',
          actions: { type: 'noteWhy', params: ({ event }) => ({ why: event.why }) },
        },
      },
    },
    retiring: { always: { guard: 'nobodyLeft', target: 'ending' } },
    ending: { entry: 'askToEnd' },
    gone: { type: 'final' },
  },
});
