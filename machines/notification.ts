import { assertEvent, assign, setup } from 'xstate';

export interface NotificationContext {
  /** Tries that failed. */
  attempts: number;
  /** When it is tried, seconds since the epoch. */
  next_at: number;
  /** Why the last try failed; null before one has. */
  error: string | null;
}

export type NotificationEvent =
  /** Its time has come: it is on its way. */
  | { type: 'SEND' }
  /** The receiver has it. */
  | { type: 'ACCEPTED' }
  /** @property spread a number from 0 to 1, so that many that failed together do not come back together */
  | { type: 'REFUSED'; error: string; now: number; spread: number };

/** Seconds until the first further try; each time twice as many, and an hour at most. */
const FIRST_WAIT = 5;
export const LONGEST_WAIT = 3600;
/** By how much of it a wait may be longer or shorter. */
const SPREAD = 0.2;
/** Tries that may fail, over two days and a bit; the last failure is the end of it. */
export const MOST_ATTEMPTS = 60;

/** @param attempts that failed before */
const waitAfter = (attempts: number, spread: number): number =>
  Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** attempts) * (1 - SPREAD + 2 * SPREAD * spread);

/**
 * That a job has ended, on its way to the receiver that the server was told of (docs/operations.md#notifications). It
 * waits in the store; what becomes of a try is known once that is written, too. So it arrives at least once, or is
 * given up.
 */
export const notificationMachine = setup({
  types: {
    context: {} as NotificationContext,
    events: {} as NotificationEvent,
    input: {} as NotificationContext,
  },
  guards: {
    isLast: ({ context }) => context.attempts + 1 >= MOST_ATTEMPTS,
  },
  actions: {
    noteRefusal: assign(({ context, event }) => {
      assertEvent(event, 'REFUSED');
      return {
        attempts: context.attempts + 1,
        next_at: event.now + waitAfter(context.attempts, event.spread),
        error: event.error,
      };
    }),
  },
}).createMachine({
  id: 'notification',
  context: ({ input }) => input,
  initial: 'waiting',
  states: {
    waiting: { on: { SEND: { target: 'sending' } } },
    sending: {
      on: {
        ACCEPTED: { target: 'delivered' },
        REFUSED: [
          { guard: 'isLast', target: 'given_up', actions: 'noteRefusal' },
          { target: 'waiting', actions: 'noteRefusal' },
        ],
      },
    },
    delivered: { type: 'final' },
    given_up: { type: 'final' },
  },
});
