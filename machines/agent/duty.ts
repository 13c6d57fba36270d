import { and, not } from 'xstate';
import { bug, leasesOf, linkErrorOf, registrationOf } from './results.ts';
import { agent, freeSlots } from './setup.ts';

/**
 * One lease request under way. A worker that is told to end hears it out, since a task that comes with the answer
 * is its own, and would otherwise be nobody's until its lease expires; but it asks the server to answer now.
 */
const asking = agent.createStateConfig({
  invoke: {
    src: 'lease',
    input: ({ context }) => ({ registered: registrationOf(context), free: freeSlots(context) }),
    onDone: [
      {
        guard: 'isHurried',
        target: '#agent.active.duty.stopping',
        actions: { type: 'startRuns', params: ({ event }) => leasesOf(event.output) },
      },
      {
        guard: 'isFallingIll',
        target: '#agent.active.duty.serving.suspended',
        actions: { type: 'startRuns', params: ({ event }) => leasesOf(event.output) },
      },
      {
        guard: 'isWithdrawing',
        target: '#agent.active.duty.draining',
        actions: { type: 'startRuns', params: ({ event }) => leasesOf(event.output) },
      },
      {
        guard: { type: 'isOk', params: ({ event }) => event.output },
        target: 'idle',
        actions: { type: 'startRuns', params: ({ event }) => leasesOf(event.output) },
      },
      {
        target: 'resting',
        actions: [
          { type: 'noteLeaseTrouble', params: ({ event }) => linkErrorOf(event.output) },
          { type: 'passOn', params: ({ event }) => linkErrorOf(event.output) },
        ],
      },
    ],
    onError: [
      { guard: 'isHurried', target: '#agent.active.duty.stopping' },
      { guard: 'isFallingIll', target: '#agent.active.duty.serving.suspended' },
      { guard: 'isWithdrawing', target: '#agent.active.duty.draining' },
      {
        target: 'resting',
        actions: { type: 'noteLeaseTrouble', params: ({ event }) => bug(event.error) },
      },
    ],
  },
  initial: 'waiting',
  states: {
    waiting: {
      always: [
        { guard: not('isConnected'), target: '#agent.active.duty.serving.idle' },
        { guard: 'isSuspended', target: 'withdrawing.ailing' },
      ],
      on: { DRAIN: 'withdrawing', STOP: 'withdrawing.hurriedly' },
    },
    withdrawing: {
      invoke: {
        src: 'withdraw',
        input: ({ context }) => registrationOf(context),
        onError: [
          { guard: 'isHurried', target: '#agent.active.duty.stopping' },
          { guard: 'isFallingIll', target: '#agent.active.duty.serving.suspended' },
          { target: '#agent.active.duty.draining' },
        ],
      },
      initial: 'calmly',
      states: {
        calmly: {
          always: { guard: not('isConnected'), target: '#agent.active.duty.draining' },
          after: { withdrawalTime: '#agent.active.duty.draining' },
          on: { DRAIN: 'hurriedly', STOP: 'hurriedly' },
        },
        hurriedly: {
          always: { guard: not('isConnected'), target: '#agent.active.duty.stopping' },
          after: { withdrawalTime: '#agent.active.duty.stopping' },
          on: { DRAIN: '#agent.active.duty.stopping' },
        },
        /** It was suspended meanwhile. */
        ailing: {
          always: { guard: not('isConnected'), target: '#agent.active.duty.serving.suspended' },
          after: { withdrawalTime: '#agent.active.duty.serving.suspended' },
          on: { DRAIN: 'calmly', STOP: 'hurriedly' },
        },
      },
    },
  },
});

/** After too many faults of its own a worker takes no tasks; it tries itself, and comes back by itself. */
const suspended = agent.createStateConfig({
  initial: 'pausing',
  states: {
    pausing: {
      entry: 'noteSelfTest',
      invoke: {
        src: 'recover',
        input: ({ context }) => ({ selfTests: context.selfTests }),
        onDone: 'testing',
        onError: 'testing',
      },
    },
    testing: {
      invoke: {
        src: 'selfTest',
        onDone: [
          {
            guard: { type: 'isWell', params: ({ event }) => event.output },
            target: '#agent.active.duty.serving.idle',
            actions: 'noteWell',
          },
          { target: 'pausing', actions: { type: 'noteIll', params: ({ event }) => String(event.output) } },
        ],
        onError: {
          target: 'pausing',
          actions: { type: 'noteIll', params: ({ event }) => String(event.error) },
        },
      },
    },
  },
});

/** What the program is there for: taking tasks, or coming to an end. */
export const duty = agent.createStateConfig({
  initial: 'serving',
  states: {
    serving: {
      initial: 'idle',
      on: { DRAIN: 'draining', STOP: 'stopping' },
      states: {
        idle: {
          always: [
            { guard: 'isSuspended', target: 'suspended' },
            { guard: and(['isConnected', 'mayLease']), target: 'asking' },
          ],
        },
        asking,
        suspended,
        resting: {
          always: { guard: 'isSuspended', target: 'suspended' },
          invoke: {
            src: 'pause',
            input: ({ context }) => ({
              failures: context.leaseFailures,
              linkError: context.linkError,
              registered: context.registered,
            }),
            onDone: 'idle',
            onError: 'idle',
          },
        },
      },
    },
    draining: {
      always: { guard: 'isIdle', target: '#agent.stopped' },
      on: { DRAIN: 'stopping', STOP: 'stopping' },
    },
    stopping: {
      entry: 'stopRuns',
      always: { guard: 'isIdle', target: '#agent.stopped' },
      initial: 'delivering',
      states: {
        delivering: {
          always: { guard: not('isConnected'), target: 'deferring' },
          after: { deliveryTime: 'deferring' },
          on: { DRAIN: 'deferring' },
        },
        deferring: { entry: 'deferRuns' },
      },
    },
  },
});
