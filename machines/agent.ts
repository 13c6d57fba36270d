import { and, not } from 'xstate';
import { agent, freeSlots } from './agent-setup.ts';
import type { AgentContext, Answered, Registration, RunEntry, Trouble } from './agent-types.ts';
import type { Lease } from './run.ts';
import type { ActiveTask } from './schema/worker.ts';

/** The connection to the server. Only heartbeats tell whether it is there. */
const link = agent.createStateConfig({
  initial: 'registering',
  states: {
    registering: {
      invoke: {
        src: 'register',
        onDone: [
          {
            guard: { type: 'isOk', params: ({ event }) => event.output },
            target: 'connected',
            actions: [
              { type: 'noteRegistered', params: ({ event }) => contentOf(event.output) },
              'resumeSaved',
            ],
          },
          {
            guard: { type: 'isRefusedAtFirst', params: ({ event }) => event.output },
            target: '#agent.stopped',
            actions: { type: 'noteFailure', params: ({ event }) => troubleOf(event.output) },
          },
          {
            target: 'away',
            actions: { type: 'noteTrouble', params: ({ event }) => troubleOf(event.output) },
          },
        ],
        onError: {
          target: 'away',
          actions: { type: 'noteTrouble', params: ({ event }) => bug(event.error) },
        },
      },
    },
    connected: {
      invoke: {
        id: 'heartbeat',
        src: 'heartbeat',
        input: ({ context }) => registrationOf(context),
        onError: {
          target: 'away',
          actions: { type: 'noteTrouble', params: ({ event }) => bug(event.error) },
        },
      },
      on: {
        BEAT: { actions: 'noteBeat' },
        TROUBLE: [
          {
            // Once without delay; a server that forgets at once what it registered is met with pauses.
            guard: { type: 'isFirstForgotten', params: ({ event }) => event.trouble },
            target: 'registering',
            actions: { type: 'noteTrouble', params: ({ event }) => event.trouble },
          },
          { target: 'away', actions: { type: 'noteTrouble', params: ({ event }) => event.trouble } },
        ],
      },
    },
    away: {
      invoke: {
        src: 'pause',
        input: ({ context }) => ({
          failures: context.linkFailures,
          trouble: context.trouble,
          registered: context.registered,
        }),
        onDone: [{ guard: 'isRegistered', target: 'rejoining' }, { target: 'registering' }],
        onError: 'registering',
      },
    },
    rejoining: {
      invoke: {
        src: 'rejoin',
        input: ({ context }) => registrationOf(context),
        onDone: [
          {
            guard: { type: 'isOk', params: ({ event }) => event.output },
            target: 'connected',
            actions: ['noteBeat', { type: 'cancelRuns', params: ({ event }) => contentOf(event.output) }],
          },
          {
            guard: { type: 'isUnknownWorker', params: ({ event }) => event.output },
            target: 'registering',
          },
          {
            target: 'away',
            actions: { type: 'noteTrouble', params: ({ event }) => troubleOf(event.output) },
          },
        ],
        onError: {
          target: 'away',
          actions: { type: 'noteTrouble', params: ({ event }) => bug(event.error) },
        },
      },
    },
  },
});

/**
 * One lease request under way. A worker that is told to end hears it out, since a task that comes with the answer
 * is its own, and would otherwise be nobody's until its lease lapses; but it asks the server to answer now.
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
          { type: 'noteLeaseTrouble', params: ({ event }) => troubleOf(event.output) },
          { type: 'passOn', params: ({ event }) => troubleOf(event.output) },
        ],
      },
    ],
    onError: [
      { guard: 'isHurried', target: '#agent.active.duty.stopping' },
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
      always: { guard: not('isConnected'), target: '#agent.active.duty.serving.idle' },
      on: { DRAIN: 'withdrawing', STOP: 'withdrawing.hurriedly' },
    },
    withdrawing: {
      invoke: {
        src: 'withdraw',
        input: ({ context }) => registrationOf(context),
        onError: [
          { guard: 'isHurried', target: '#agent.active.duty.stopping' },
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
      },
    },
  },
});

/** What the program is there for: taking tasks, or coming to an end. */
const duty = agent.createStateConfig({
  initial: 'serving',
  states: {
    serving: {
      initial: 'idle',
      on: { DRAIN: 'draining', STOP: 'stopping' },
      states: {
        idle: { always: { guard: and(['isConnected', 'mayLease']), target: 'asking' } },
        asking,
        resting: {
          invoke: {
            src: 'pause',
            input: ({ context }) => ({
              failures: context.leaseFailures,
              trouble: context.trouble,
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
          always: { guard: not('isConnected'), target: 'parking' },
          after: { deliveryTime: 'parking' },
          on: { DRAIN: 'parking' },
        },
        parking: { entry: 'parkRuns' },
      },
    },
  },
});

/**
 * The worker program. Two things go on at once: the link to the server (registering, connected, away), and
 * the duty (serving, draining, stopping). Only an agent that is both connected and serving asks for leases.
 */
export const agentMachine = agent.createMachine({
  id: 'agent',
  context: ({ input }) => ({
    ...input,
    registered: null,
    runs: {},
    linkFailures: 0,
    leaseFailures: 0,
    trouble: null,
    failure: null,
  }),
  output: ({ context }) => ({ failure: context.failure }),
  initial: 'active',
  states: {
    active: {
      type: 'parallel',
      on: {
        CANCEL: { actions: { type: 'cancelRuns', params: ({ event }) => event.tasks } },
        'xstate.done.actor.*': {
          guard: { type: 'isRun', params: ({ event }) => event.actorId },
          actions: { type: 'forgetRun', params: ({ event }) => event.actorId },
        },
        'xstate.error.actor.*': {
          guard: { type: 'isRun', params: ({ event }) => event.actorId },
          actions: { type: 'forgetRun', params: ({ event }) => event.actorId },
        },
      },
      states: { link, duty },
    },
    stopped: { type: 'final' },
  },
});

/** The list that a heartbeat carries (contract, "Heartbeat"). */
export function activeOf(runs: Record<string, RunEntry>): ActiveTask[] {
  return Object.values(runs).map(({ ref, stopping }) => ({
    task_id: ref.task_id,
    attempt: ref.attempt,
    ...(stopping && { stopping }),
  }));
}

/** The registration; states that ask for it are not entered without one. */
function registrationOf(context: AgentContext): Registration {
  if (!context.registered) throw new Error('the worker is not registered');
  return context.registered;
}

function contentOf<T>(answer: Answered<T>): T {
  if (!answer.ok) throw answer.trouble;
  return answer.value;
}

const leasesOf = (answer: Answered<Lease[]>): Lease[] => (answer.ok ? answer.value : []);

function troubleOf(answer: Answered<unknown>): Trouble {
  if (answer.ok) throw new Error('an answer without trouble');
  return answer.trouble;
}

/** A fault of this program is met like a server that is away: with a pause, and it is in the log. */
const bug = (fault: unknown): Trouble => ({ kind: 'unreachable', detail: String(fault), cause: fault });
