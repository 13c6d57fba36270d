import { bug, contentOf, errorIn, linkErrorOf, registrationOf } from './results.ts';
import { agent } from './setup.ts';

/** The connection to the server. Only heartbeats tell whether it is there. */
export const link = agent.createStateConfig({
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
            actions: { type: 'noteFailure', params: ({ event }) => linkErrorOf(event.output) },
          },
          {
            target: 'away',
            actions: { type: 'noteLinkError', params: ({ event }) => linkErrorOf(event.output) },
          },
        ],
        onError: {
          target: 'away',
          actions: { type: 'noteLinkError', params: ({ event }) => bug(event.error) },
        },
      },
    },
    connected: {
      invoke: {
        id: 'heartbeat',
        src: 'heartbeat',
        input: ({ context }) => ({ registered: registrationOf(context), atOnce: context.woken }),
        onError: {
          target: 'away',
          actions: { type: 'noteLinkError', params: ({ event }) => bug(event.error) },
        },
      },
      on: {
        BEAT: { actions: 'noteBeat' },
        // The request that the server holds may be as old as the sleep.
        WOKE: { target: 'connected', reenter: true, actions: 'noteWoken' },
        LINK_ERROR: [
          {
            guard: { type: 'isSuperseded', params: ({ event }) => event.linkError },
            target: 'superseded',
            actions: { type: 'noteLinkError', params: ({ event }) => event.linkError },
          },
          {
            // Once without delay; a server that forgets at once what it registered is met with pauses.
            guard: { type: 'isFirstForgotten', params: ({ event }) => event.linkError },
            target: 'registering',
            actions: { type: 'noteLinkError', params: ({ event }) => event.linkError },
          },
          { target: 'away', actions: { type: 'noteLinkError', params: ({ event }) => event.linkError } },
        ],
      },
    },
    away: {
      invoke: {
        src: 'pause',
        input: ({ context }) => ({
          failures: context.linkFailures,
          linkError: context.linkError,
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
            guard: { type: 'isSuperseded', params: ({ event }) => errorIn(event.output) },
            target: 'superseded',
            actions: { type: 'noteLinkError', params: ({ event }) => linkErrorOf(event.output) },
          },
          {
            target: 'away',
            actions: { type: 'noteLinkError', params: ({ event }) => linkErrorOf(event.output) },
          },
        ],
        onError: {
          target: 'away',
          actions: { type: 'noteLinkError', params: ({ event }) => bug(event.error) },
        },
      },
    },
    /** Another copy of the state directory registered as this worker; this program goes on as a new one. */
    superseded: {
      entry: 'supersedeRuns',
      invoke: { src: 'forgetIdentity', onDone: 'registering', onError: 'registering' },
    },
  },
});
