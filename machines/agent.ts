import { and, assign, enqueueActions, not, setup, stateIn } from 'xstate';
import type {
  AgentActors,
  AgentContext,
  AgentEvent,
  AgentInput,
  Answered,
  Registration,
  RunEntry,
  ToCancel,
  Trouble,
} from './agent-types.ts';
import { type AttemptRef, type Lease, runKey } from './run.ts';
import type { ActiveTask } from './schema/worker.ts';

type Runs = Record<string, RunEntry>;

const agent = setup({
  types: {} as {
    context: AgentContext;
    input: AgentInput;
    events: AgentEvent;
    output: { failure: Trouble | null };
  },
  actors: {} as AgentActors,
  guards: {
    isRegistered: ({ context }) => context.registered !== null,
    isConnected: stateIn('#agent.active.link.connected'),
    mayLease: ({ context }) => freeSlots(context) > 0,
    isIdle: ({ context }) => Object.keys(context.runs).length === 0,
    isOk: (_, answer: Answered<unknown>) => answer.ok,
    isUnknownWorker: (_, answer: Answered<unknown>) => !answer.ok && answer.trouble.kind === 'unknown_worker',
    isFirstForgotten: ({ context }, trouble: Trouble) =>
      trouble.kind === 'unknown_worker' && context.linkFailures === 0,
    /** At start-up a refusal ends the program: a person has to mend the command line. */
    isRefusedAtFirst: ({ context }, answer: Answered<unknown>) =>
      !answer.ok && answer.trouble.kind === 'refused' && context.registered === null,
    isRun: ({ context }, key: string) => Object.hasOwn(context.runs, key),
  },
  actions: {
    noteRegistered: assign({ registered: (_, registered: Registration) => registered, trouble: null }),
    noteBeat: assign({ linkFailures: 0, trouble: null }),
    noteTrouble: assign({
      linkFailures: ({ context }) => context.linkFailures + 1,
      trouble: (_, trouble: Trouble) => trouble,
    }),
    noteLeaseTrouble: assign({
      leaseFailures: ({ context }) => context.leaseFailures + 1,
      trouble: (_, trouble: Trouble) => trouble,
    }),
    noteFailure: assign({ failure: (_, trouble: Trouble) => trouble }),
    /** Takes up the delivery of saved results, once: a second registration finds none waiting. */
    resumeSaved: enqueueActions(({ context, enqueue }) => {
      for (const { ref, outcome } of context.saved) {
        enqueue.spawnChild('run', { id: runKey(ref), input: { kind: 'saved', ref, outcome } });
      }
      enqueue.assign({
        runs: withRuns(
          context.runs,
          context.saved.map((saved) => saved.ref),
        ),
        saved: [],
      });
    }),
    startRuns: enqueueActions(({ context, enqueue }, leases: Lease[]) => {
      const fresh = leases.filter((lease) => !Object.hasOwn(context.runs, runKey(lease.ref)));
      for (const lease of fresh) {
        enqueue.spawnChild('run', { id: runKey(lease.ref), input: { kind: 'leased', lease } });
      }
      const runs = withRuns(
        context.runs,
        fresh.map((lease) => lease.ref),
      );
      enqueue.assign({ runs, leaseFailures: 0 });
    }),
    forgetRun: assign({
      runs: ({ context }, key: string) => {
        const { [key]: _, ...runs } = context.runs;
        return runs;
      },
    }),
    cancelRuns: enqueueActions(({ context, enqueue }, tasks: ToCancel[]) => {
      const named = (ref: AttemptRef) =>
        tasks.some((t) => t.task_id === ref.task_id && (t.attempt ?? ref.attempt) === ref.attempt);
      const hit = Object.entries(context.runs).filter(([, run]) => !run.stopping && named(run.ref));
      if (hit.length === 0) return;
      for (const [key] of hit) enqueue.sendTo(key, { type: 'STOP', reason: 'cancelled' });
      const stopped = hit.map(([key, run]) => [key, { ...run, stopping: true }]);
      const runs: Runs = { ...context.runs, ...Object.fromEntries(stopped) };
      enqueue.assign({ runs });
    }),
    /** The link decides what a forgotten worker does; the duty only found out. */
    passOn: enqueueActions(({ enqueue }, trouble: Trouble) => {
      if (trouble.kind === 'unknown_worker') enqueue.raise({ type: 'TROUBLE', trouble });
    }),
    stopRuns: enqueueActions(({ context, enqueue }) => {
      for (const key of Object.keys(context.runs)) {
        enqueue.sendTo(key, { type: 'STOP', reason: 'worker_stopped' });
      }
    }),
    parkRuns: enqueueActions(({ context, enqueue }) => {
      for (const key of Object.keys(context.runs)) enqueue.sendTo(key, { type: 'PARK' });
    }),
  },
  delays: { deliveryTime: ({ context }) => context.deliverySeconds * 1000 },
});

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

/** What the program is there for: taking tasks, or coming to an end. */
const duty = agent.createStateConfig({
  initial: 'serving',
  states: {
    serving: {
      initial: 'idle',
      on: { DRAIN: 'draining', STOP: 'stopping' },
      states: {
        idle: { always: { guard: and(['isConnected', 'mayLease']), target: 'asking' } },
        asking: {
          always: { guard: not('isConnected'), target: 'idle' },
          invoke: {
            src: 'lease',
            input: ({ context }) => ({ registered: registrationOf(context), free: freeSlots(context) }),
            onDone: [
              {
                guard: { type: 'isOk', params: ({ event }) => event.output },
                target: 'idle',
                actions: { type: 'startRuns', params: ({ event }) => contentOf(event.output) },
              },
              {
                target: 'resting',
                actions: [
                  { type: 'noteLeaseTrouble', params: ({ event }) => troubleOf(event.output) },
                  { type: 'passOn', params: ({ event }) => troubleOf(event.output) },
                ],
              },
            ],
            onError: {
              target: 'resting',
              actions: { type: 'noteLeaseTrouble', params: ({ event }) => bug(event.error) },
            },
          },
        },
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

const freeSlots = ({ slots, runs }: AgentContext): number => slots - Object.keys(runs).length;

function withRuns(runs: Runs, fresh: AttemptRef[]): Runs {
  return { ...runs, ...Object.fromEntries(fresh.map((ref) => [runKey(ref), { ref, stopping: false }])) };
}

/** The list that a heartbeat carries (contract, "Heartbeat"). */
export function activeOf(runs: Runs): ActiveTask[] {
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

function troubleOf(answer: Answered<unknown>): Trouble {
  if (answer.ok) throw new Error('an answer without trouble');
  return answer.trouble;
}

/** A fault of this program is met like a server that is away: with a pause, and it is in the log. */
const bug = (fault: unknown): Trouble => ({ kind: 'unreachable', detail: String(fault), cause: fault });
