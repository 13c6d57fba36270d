import { assign, setup } from 'xstate';

/** Who leads, as the store tells it. */
export interface Leader {
  /** Machine and process, for people. */
  place: string;
  /** Where clients reach it; null where that is not known. */
  address: string | null;
}

export interface ReignContext {
  /** The other one that leads, or led last; null where nobody else did. */
  leader: Leader | null;
}

export type ReignEvent =
  | { type: 'LEADER_SEEN'; leader: Leader }
  | { type: 'STORE_TAKEN' }
  | { type: 'RECOVERED' }
  | { type: 'EPOCH_OVER'; leader: Leader | null };

/**
 * A server beside others on one store: `standing_by → taking_over → leading → superseded`. While it stands by another one
 * leads: it answers what the store knows, and sends all else on to that one. It takes over once the store is its own: then
 * it reads what is there, and leads, or stands by again where the database went away on the way and another one has the store now.
 * Who has been superseded cannot come back: what it knows may be old.
 */
export const reignMachine = setup({
  types: { context: {} as ReignContext, events: {} as ReignEvent },
  actions: {
    noteLeader: assign(({ context, event }) => ({
      leader: 'leader' in event ? (event.leader ?? context.leader) : context.leader,
    })),
  },
}).createMachine({
  id: 'reign',
  context: { leader: null },
  initial: 'standing_by',
  states: {
    standing_by: {
      on: {
        LEADER_SEEN: { actions: 'noteLeader' },
        STORE_TAKEN: { target: 'taking_over' },
      },
    },
    taking_over: {
      on: {
        RECOVERED: { target: 'leading' },
        LEADER_SEEN: { target: 'standing_by', actions: 'noteLeader' },
        EPOCH_OVER: { target: 'superseded', actions: 'noteLeader' },
      },
    },
    leading: {
      on: { EPOCH_OVER: { target: 'superseded', actions: 'noteLeader' } },
    },
    superseded: { type: 'final' },
  },
});
