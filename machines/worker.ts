import { assign, emit, setup } from 'xstate';

export interface WorkerContext {
  id: string;
  slots_total: number;
  slots_used: number;
}

export type WorkerEvent =
  | { type: 'REGISTER'; slots_total: number }
  /** Any sign of life. */
  | { type: 'HEARTBEAT' }
  /** Nothing was heard for the time after which a worker counts as dead. */
  | { type: 'SILENCE' }
  | { type: 'TASK_TAKEN' }
  | { type: 'TASK_RELEASED' };

export type WorkerEmission =
  | { type: 'worker_registered' }
  | { type: 'worker_dead' }
  | { type: 'worker_alive' };

/**
 * One worker (contract, "Workers and leases"). On the wire it is `alive` or `dead`; below `alive` stands
 * whether it has room. Death takes no task: the lapse of its lease does.
 */
export const workerMachine = setup({
  types: {
    context: {} as WorkerContext,
    events: {} as WorkerEvent,
    emitted: {} as WorkerEmission,
    input: {} as WorkerContext,
  },
  guards: {
    hasTask: ({ context }) => context.slots_used > 0,
    hasNoTask: ({ context }) => context.slots_used <= 0,
    isFull: ({ context }) => context.slots_used >= context.slots_total,
    hasRoom: ({ context }) => context.slots_used < context.slots_total,
    isBusy: ({ context }) => context.slots_used > 0 && context.slots_used < context.slots_total,
  },
  actions: {
    resize: assign(({ context, event }) => ({
      slots_total: event.type === 'REGISTER' ? event.slots_total : context.slots_total,
    })),
    takeSlot: assign({ slots_used: ({ context }) => context.slots_used + 1 }),
    freeSlot: assign({ slots_used: ({ context }) => context.slots_used - 1 }),
    emitRegistered: emit({ type: 'worker_registered' }),
    emitDead: emit({ type: 'worker_dead' }),
    emitAlive: emit({ type: 'worker_alive' }),
  },
}).createMachine({
  id: 'worker',
  context: ({ input }) => input,
  initial: 'alive',
  on: {
    REGISTER: { target: '.alive', actions: ['resize', 'emitRegistered'] },
    TASK_RELEASED: { guard: 'hasTask', actions: 'freeSlot' },
  },
  states: {
    alive: {
      initial: 'idle',
      on: {
        TASK_TAKEN: { guard: 'hasRoom', actions: 'takeSlot' },
        SILENCE: { target: 'dead', actions: 'emitDead' },
      },
      states: {
        idle: {
          always: [
            { guard: 'isFull', target: 'full' },
            { guard: 'isBusy', target: 'busy' },
          ],
        },
        busy: {
          always: [
            { guard: 'isFull', target: 'full' },
            { guard: 'hasNoTask', target: 'idle' },
          ],
        },
        full: {
          always: [
            { guard: 'hasNoTask', target: 'idle' },
            { guard: 'isBusy', target: 'busy' },
          ],
        },
      },
    },
    dead: {
      on: {
        HEARTBEAT: { target: 'alive', actions: 'emitAlive' },
      },
    },
  },
});
