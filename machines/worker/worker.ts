import { assertEvent, assign, emit, setup } from 'xstate';

export interface WorkerContext {
  id: string;
  slots_total: number;
  slots_used: number;
  /** Why it asks for no tasks at present; null when it does. */
  suspended: string | null;
  /** It was told to end: it finishes what it has (`draining`), or has ended (`stopped`). */
  leaving: Leaving | null;
  /** An operator's order: it finishes what it has and is given nothing more, whatever it asks for. */
  drained: DrainOrder | null;
}

/** Who ordered that a worker be drained. It outlasts its silence, its end and its registrations. */
export interface DrainOrder {
  by: string;
  /** Seconds since the epoch. */
  at: number;
  /** When the tasks that it still has are taken back; null: never. */
  takes_back_at: number | null;
}

export type Leaving = 'draining' | 'stopped';

export type WorkerEvent =
  | { type: 'REGISTER'; slots_total: number }
  /** Any sign of life. */
  | { type: 'HEARTBEAT' }
  /** It asks for no tasks until it says otherwise: it is not well, and looks after itself. */
  | { type: 'SUSPEND'; reason: string }
  | { type: 'RESUME' }
  /** It was told to end: it takes no more tasks, and goes on with those that it has. */
  | { type: 'DRAIN' }
  /** It has ended, and said so: nobody has to wait for its silence. */
  | { type: 'STOP' }
  /** Nothing was heard for the time after which a worker counts as dead. */
  | { type: 'HEARTBEAT_MISSED' }
  /** An operator drains it; once more with another order. */
  | { type: 'DRAIN_ORDERED'; order: DrainOrder }
  | { type: 'DRAIN_LIFTED' }
  /** An operator has it forgotten. */
  | { type: 'REMOVE' }
  | { type: 'TASK_TAKEN' }
  | { type: 'TASK_RELEASED' };

/** What happened to a worker. That its status changed, and from which, whoever runs the machine sees. */
export type WorkerEmission =
  /** It wants no task: what it has asked for before is withdrawn. */
  | { type: 'polling_ended' }
  | { type: 'worker_registered' }
  | { type: 'worker_dead' }
  | { type: 'worker_alive' }
  | { type: 'worker_suspended'; reason: string }
  | { type: 'worker_resumed' }
  | { type: 'worker_draining' }
  | { type: 'worker_stopped' }
  | { type: 'worker_drain_ordered'; order: DrainOrder }
  /** By order of an operator it has no task any more. */
  | { type: 'worker_drained' }
  | { type: 'worker_drain_lifted' }
  | { type: 'worker_removed' };

/**
 * One worker (docs/semantics.md#workers). On the wire it is `alive` or `dead`; below `alive` stands whether it has
 * room. Death takes no task: the expiry of its lease does. One that is suspended or leaving is alive and may be busy;
 * it takes nothing new, since it does not ask. One that an operator drains may ask, and is given nothing. One that has
 * ended is `dead` at once.
 */
export const workerMachine = setup({
  types: {
    context: {} as WorkerContext,
    events: {} as WorkerEvent,
    emitted: {} as WorkerEmission,
    input: {} as WorkerContext,
  },
  guards: {
    isFull: ({ context }) => context.slots_used >= context.slots_total,
    isBusy: ({ context }) => context.slots_used > 0,
    takesLastSlot: ({ context }) => context.slots_used + 1 >= context.slots_total,
    freesLastTask: ({ context }) => context.slots_used <= 1,
    asks: ({ context }) => context.suspended === null,
    isSuspended: ({ context }) => context.suspended !== null,
    isDraining: ({ context }) => context.leaving === 'draining',
    stays: ({ context }) => context.leaving === null,
    isDrained: ({ context }) => context.drained !== null,
    isDrainedAlready: ({ context }) => context.drained !== null && context.slots_used === 0,
    /** By order of an operator it was to have no task any more, and this is the last one. */
    endsItsDrain: ({ context }) => context.drained !== null && context.slots_used === 1,
    hasNoTask: ({ context }) => context.slots_used === 0,
    isForAnotherReason: ({ context, event }) => {
      assertEvent(event, 'SUSPEND');
      return context.suspended !== null && context.suspended !== event.reason;
    },
    /** It registered again with fewer slots than it has tasks. */
    staysFull: ({ context }) => context.slots_used - 1 >= context.slots_total,
  },
  actions: {
    resize: assign(({ event }) => {
      assertEvent(event, 'REGISTER');
      return { slots_total: event.slots_total };
    }),
    suspend: assign(({ event }) => {
      assertEvent(event, 'SUSPEND');
      return { suspended: event.reason };
    }),
    resume: assign({ suspended: null, leaving: null }),
    drain: assign({ leaving: 'draining' }),
    leave: assign({ leaving: 'stopped' }),
    comeBack: assign({ leaving: null }),
    order: assign(({ event }) => {
      assertEvent(event, 'DRAIN_ORDERED');
      return { drained: event.order };
    }),
    lift: assign({ drained: null }),
    takeSlot: assign({ slots_used: ({ context }) => context.slots_used + 1 }),
    freeSlot: assign({ slots_used: ({ context }) => context.slots_used - 1 }),
    emitRegistered: emit({ type: 'worker_registered' }),
    emitDead: emit({ type: 'worker_dead' }),
    emitAlive: emit({ type: 'worker_alive' }),
    emitSuspended: emit(({ event }) => {
      assertEvent(event, 'SUSPEND');
      return { type: 'worker_suspended', reason: event.reason };
    }),
    emitPollingEnded: emit({ type: 'polling_ended' }),
    emitResumed: emit({ type: 'worker_resumed' }),
    emitDraining: emit({ type: 'worker_draining' }),
    emitStopped: emit({ type: 'worker_stopped' }),
    emitDrainOrdered: emit(({ event }) => {
      assertEvent(event, 'DRAIN_ORDERED');
      return { type: 'worker_drain_ordered', order: event.order };
    }),
    emitDrained: emit({ type: 'worker_drained' }),
    emitDrainLifted: emit({ type: 'worker_drain_lifted' }),
    emitRemoved: emit({ type: 'worker_removed' }),
  },
}).createMachine({
  id: 'worker',
  context: ({ input }) => input,
  initial: 'alive',
  on: {
    TASK_RELEASED: { guard: 'isBusy', actions: 'freeSlot' },
  },
  states: {
    alive: {
      initial: 'idle',
      on: {
        HEARTBEAT_MISSED: { target: 'dead', actions: 'emitDead' },
        SUSPEND: [
          { guard: 'isForAnotherReason', actions: ['suspend', 'emitPollingEnded'] },
          { guard: 'asks', actions: ['suspend', 'emitSuspended', 'emitPollingEnded'] },
        ],
        RESUME: [
          { guard: 'isSuspended', actions: ['resume', 'emitResumed'] },
          { guard: 'isDraining', actions: ['resume', 'emitResumed'] },
        ],
        DRAIN: { guard: 'stays', actions: ['drain', 'emitDraining', 'emitPollingEnded'] },
        STOP: { target: 'dead', actions: ['leave', 'emitStopped', 'emitPollingEnded'] },
        DRAIN_ORDERED: { target: '.draining', actions: ['order', 'emitDrainOrdered'] },
        REGISTER: { target: '.idle', actions: ['resize', 'resume', 'emitRegistered'] },
      },
      states: {
        idle: {
          // Whoever registers or comes back may hold tasks, and be drained.
          always: [
            { guard: 'isDrainedAlready', target: 'drained' },
            { guard: 'isDrained', target: 'draining' },
            { guard: 'isFull', target: 'full' },
            { guard: 'isBusy', target: 'busy' },
          ],
          on: {
            TASK_TAKEN: [
              { guard: 'takesLastSlot', target: 'full', actions: 'takeSlot' },
              { target: 'busy', actions: 'takeSlot' },
            ],
          },
        },
        busy: {
          on: {
            TASK_TAKEN: [
              { guard: 'takesLastSlot', target: 'full', actions: 'takeSlot' },
              { actions: 'takeSlot' },
            ],
            TASK_RELEASED: [
              { guard: 'freesLastTask', target: 'idle', actions: 'freeSlot' },
              { actions: 'freeSlot' },
            ],
          },
        },
        full: {
          on: {
            TASK_RELEASED: [
              { guard: 'staysFull', actions: 'freeSlot' },
              { guard: 'freesLastTask', target: 'idle', actions: 'freeSlot' },
              { target: 'busy', actions: 'freeSlot' },
            ],
          },
        },
        /** It finishes what it has. */
        draining: {
          always: { guard: 'hasNoTask', target: 'drained', actions: 'emitDrained' },
          on: { DRAIN_LIFTED: { target: 'idle', actions: ['lift', 'emitDrainLifted'] } },
        },
        drained: {
          on: { DRAIN_LIFTED: { target: 'idle', actions: ['lift', 'emitDrainLifted'] } },
        },
      },
    },
    dead: {
      on: {
        // What it had has been queued again, or was taken back.
        TASK_RELEASED: [
          { guard: 'endsItsDrain', actions: ['freeSlot', 'emitDrained'] },
          { guard: 'isBusy', actions: 'freeSlot' },
        ],
        HEARTBEAT: { target: 'alive', actions: ['comeBack', 'emitAlive'] },
        REGISTER: { target: 'alive', actions: ['resize', 'resume', 'emitRegistered'] },
        DRAIN_ORDERED: [
          { guard: 'hasNoTask', actions: ['order', 'emitDrainOrdered', 'emitDrained'] },
          { actions: ['order', 'emitDrainOrdered'] },
        ],
        DRAIN_LIFTED: { guard: 'isDrained', actions: ['lift', 'emitDrainLifted'] },
        REMOVE: { guard: 'hasNoTask', target: 'removed', actions: ['emitRemoved', 'emitPollingEnded'] },
      },
    },
    /** Its row is deleted. */
    removed: { type: 'final' },
  },
});
