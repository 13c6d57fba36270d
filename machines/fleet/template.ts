import { assertEvent, assign, setup } from 'xstate';

/** What is known of a template beside what its engine and the server show; all of it survives a restart. */
export interface TemplateContext {
  /** In a row, without a worker that worked in between. */
  failures: number;
  /** Why the last of them was one; null where there is none. */
  reason: string | null;
  /** When it asks again, seconds since the epoch; null unless it pauses. */
  resumes_at: number | null;
  /** Workers in a row that came, were given nothing while there was something for them, and left. */
  unused: number;
  /** Since when it has allocations waiting that nobody needs, seconds since the epoch; null: it has none. */
  surplus_since: number | null;
}

export type TemplateEvent =
  /** Its allocations were looked at. @property works whether a worker of one of them has a task */
  | { type: 'LOOKED'; now: number; works: boolean }
  /** An allocation was refused, or ended as none should. */
  | { type: 'FAILED'; now: number; why: string }
  /** A worker left that was given nothing, though there was something for it. */
  | { type: 'UNUSED'; now: number; why: string }
  /** @property asks whether allocations are wanted of it @property surplus whether some wait that are not */
  | { type: 'DECIDED'; now: number; asks: boolean; surplus: boolean };

/** Seconds until it asks again after a failure; each time twice as many, half an hour at most. */
const FIRST_PAUSE = 30;
export const LONGEST_PAUSE = 1800;
/** One may come too late for what others took. */
const MOST_UNUSED = 2;

export const NEW_TEMPLATE: TemplateContext = {
  failures: 0,
  reason: null,
  resumes_at: null,
  unused: 0,
  surplus_since: null,
};

const pauseAfter = (failures: number): number => Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** failures);

/**
 * A template of a fleet: whether it asks for allocations. After a failure it pauses, longer with each, and then tries
 * with a single one, until a worker of it works.
 */
export const templateMachine = setup({
  types: {
    context: {} as TemplateContext,
    events: {} as TemplateEvent,
    input: {} as TemplateContext,
  },
  guards: {
    isPaused: ({ context }) => context.resumes_at !== null,
    hasFailed: ({ context }) => context.failures > 0,
    isOver: ({ context, event }) => {
      assertEvent(event, 'LOOKED');
      return event.now >= (context.resumes_at ?? 0);
    },
    works: ({ event }) => {
      assertEvent(event, 'LOOKED');
      return event.works;
    },
    asks: ({ event }) => {
      assertEvent(event, 'DECIDED');
      return event.asks;
    },
    isOneTooMany: ({ context }) => context.unused + 1 >= MOST_UNUSED,
  },
  actions: {
    noteFailure: assign(({ context, event }) => {
      assertEvent(event, ['FAILED', 'UNUSED']);
      return {
        failures: context.failures + 1,
        reason: event.why,
        resumes_at: event.now + pauseAfter(context.failures),
        unused: 0,
      };
    }),
    /** Those that were asked for together fail together: that is one failure. */
    noteReason: assign(({ event }) => {
      assertEvent(event, ['FAILED', 'UNUSED']);
      return { reason: event.why };
    }),
    noteUnused: assign({ unused: ({ context }) => context.unused + 1 }),
    noteWork: assign({ failures: 0, reason: null, unused: 0 }),
    noteResumed: assign({ resumes_at: null }),
    noteSurplus: assign(({ context, event }) => {
      assertEvent(event, 'DECIDED');
      return { surplus_since: event.surplus ? (context.surplus_since ?? event.now) : null };
    }),
  },
}).createMachine({
  id: 'template',
  context: ({ input }) => input,
  initial: 'starting',
  on: { DECIDED: { actions: 'noteSurplus' } },
  states: {
    starting: {
      always: [
        { guard: 'isPaused', target: 'paused' },
        { guard: 'hasFailed', target: 'trying' },
        { target: 'ready' },
      ],
    },
    ready: {
      initial: 'idle',
      on: {
        LOOKED: { guard: 'works', actions: 'noteWork' },
        FAILED: { target: 'paused', actions: 'noteFailure' },
        UNUSED: [
          { guard: 'isOneTooMany', target: 'paused', actions: 'noteFailure' },
          { actions: 'noteUnused' },
        ],
      },
      states: {
        idle: {
          on: {
            DECIDED: [
              { guard: 'asks', target: 'asking', actions: 'noteSurplus' },
              { actions: 'noteSurplus' },
            ],
          },
        },
        asking: {
          on: {
            DECIDED: [
              { guard: 'asks', actions: 'noteSurplus' },
              { target: 'idle', actions: 'noteSurplus' },
            ],
          },
        },
      },
    },
    paused: {
      on: {
        LOOKED: { guard: 'isOver', target: 'trying', actions: 'noteResumed' },
        FAILED: { actions: 'noteReason' },
      },
    },
    trying: {
      on: {
        LOOKED: { guard: 'works', target: 'ready', actions: 'noteWork' },
        FAILED: { target: 'paused', actions: 'noteFailure' },
        UNUSED: { target: 'paused', actions: 'noteFailure' },
      },
    },
  },
});
