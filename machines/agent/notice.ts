import { not } from 'xstate';
import { agent } from './setup.ts';
import type { Ending } from './types.ts';

/** Of a program that ends only when it is told to, and then has all the time that it needs. */
export const ENDLESS: Ending = { noticeSeconds: null, drainsAt: null, givesBackAt: null, idleSeconds: null };

/**
 * Whether the program knows that it has to end: it was told to, or its time is nearly over. What runs may finish until
 * the notice is over; then it is given back.
 */
export const notice = agent.createStateConfig({
  initial: 'none',
  states: {
    none: {
      invoke: {
        src: 'notice',
        input: ({ context: { ending } }) => ({ seconds: null, at: ending.drainsAt }),
        onDone: { target: 'given', actions: 'endCalmly' },
      },
      on: { DRAIN: { guard: not('isRetiring'), target: 'given' }, STOP: 'over' },
    },
    given: {
      invoke: {
        src: 'notice',
        input: ({ context: { ending } }) => ({ seconds: ending.noticeSeconds, at: ending.givesBackAt }),
        onDone: { target: 'over', actions: 'giveBack' },
      },
      on: { STOP: 'over' },
    },
    over: {},
  },
});
