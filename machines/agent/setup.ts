import { assign, enqueueActions, raise, setup, stateIn, stopChild } from 'xstate';
import { type AttemptOutput, type AttemptRef, attemptKey, type Lease } from '../attempt/attempt.ts';
import type {
  AgentActors,
  AgentContext,
  AgentEvent,
  AgentInput,
  AttemptEntry,
  LinkError,
  Registration,
  Result,
  ToCancel,
} from './types.ts';

type Runs = Record<string, AttemptEntry>;

/** Faults of its own in a row after which a worker asks for no more tasks, but looks at itself. */
const MOST_FAULTS = 3;

/** What the states of the worker program are built from: types, guards, actions, delays. */
export const agent = setup({
  types: {} as {
    context: AgentContext;
    input: AgentInput;
    events: AgentEvent;
    output: { failure: LinkError | null };
  },
  actors: {} as AgentActors,
  guards: {
    isRegistered: ({ context }) => context.registered !== null,
    isConnected: stateIn('#agent.active.link.connected'),
    /** Told to end while a lease request is under way. */
    isWithdrawing: stateIn('#agent.active.duty.serving.asking.withdrawing'),
    isHurried: stateIn('#agent.active.duty.serving.asking.withdrawing.hurriedly'),
    isFallingIll: stateIn('#agent.active.duty.serving.asking.withdrawing.ailing'),
    isSuspended: ({ context }) => context.suspended !== null,
    isWell: (_, wrong: string | null) => wrong === null,
    mayLease: ({ context }) => freeSlots(context) > 0,
    isIdle: ({ context }) => Object.keys(context.runs).length === 0,
    isRetiring: ({ context }) => context.retiring,
    endsWhenIdle: ({ context }) => context.ending.idleSeconds !== null,
    isOk: (_, answer: Result<unknown>) => answer.ok,
    isUnknownWorker: (_, answer: Result<unknown>) => !answer.ok && answer.linkError.kind === 'unknown_worker',
    /** Not by an answer that is about an earlier registration of this very program. */
    isSuperseded: ({ context }, linkError: LinkError | null) => supersedes(linkError, context),
    isFirstForgotten: ({ context }, linkError: LinkError) =>
      linkError.kind === 'unknown_worker' && context.linkFailures === 0,
    /** At start-up a refusal ends the program: a person has to mend the command line. */
    isRefusedAtFirst: ({ context }, answer: Result<unknown>) =>
      !answer.ok && answer.linkError.kind === 'refused' && context.registered === null,
    isRun: ({ context }, actor: string) => runOf(context, actor) !== undefined,
  },
  actions: {
    noteRegistered: assign({ registered: (_, registered: Registration) => registered, linkError: null }),
    noteBeat: assign({ linkFailures: 0, linkError: null, woken: false }),
    noteWoken: assign({ woken: true }),
    noteLinkError: assign({
      linkFailures: ({ context }) => context.linkFailures + 1,
      linkError: (_, linkError: LinkError) => linkError,
    }),
    noteLeaseTrouble: assign({
      leaseFailures: ({ context }) => context.leaseFailures + 1,
      linkError: (_, linkError: LinkError) => linkError,
    }),
    noteFailure: assign({ failure: (_, linkError: LinkError) => linkError }),
    /** Takes up the delivery of saved results, once: a second registration finds none waiting. */
    resumeSaved: enqueueActions(({ context, enqueue }) => {
      const names = freeNames(context.runs);
      const runs = { ...context.runs };
      for (const { ref, outcome } of context.saved) {
        const id = names.next().value;
        enqueue.spawnChild('run', { id, input: { kind: 'saved', ref, outcome } });
        runs[attemptKey(ref)] = { ...newRun(ref, id), saved: true };
      }
      enqueue.assign({ runs, saved: [] });
    }),
    startRuns: enqueueActions(({ context, enqueue }, leases: Lease[]) => {
      const names = freeNames(context.runs);
      const runs = { ...context.runs };
      for (const lease of leases) {
        if (Object.hasOwn(runs, attemptKey(lease.ref))) continue;
        const id = names.next().value;
        enqueue.spawnChild('run', { id, input: { kind: 'leased', lease } });
        runs[attemptKey(lease.ref)] = newRun(lease.ref, id);
      }
      enqueue.assign({ runs, leaseFailures: 0 });
    }),
    noteSaved: assign({
      runs: ({ context }, key: string) => {
        const run = context.runs[key];
        return run ? { ...context.runs, [key]: { ...run, delivering: true } } : context.runs;
      },
    }),
    forgetRun: assign({
      runs: ({ context }, actor: string) =>
        Object.fromEntries(Object.entries(context.runs).filter(([, run]) => run.actor !== actor)),
    }),
    /** What has ended would else be held, with its lease, as long as this program runs, and be copied at each step. */
    dropRun: stopChild((_, actor: string) => actor),
    cancelRuns: enqueueActions(({ context, enqueue }, tasks: ToCancel[]) => {
      const named = (ref: AttemptRef) =>
        tasks.some((t) => t.task_id === ref.task_id && (t.attempt ?? ref.attempt) === ref.attempt);
      const hit = Object.entries(context.runs).filter(([, run]) => !run.stopping && named(run.ref));
      if (hit.length === 0) return;
      for (const [, { actor }] of hit) enqueue.sendTo(actor, { type: 'STOP', reason: 'cancelled' });
      const stopped = hit.map(([key, run]) => [key, { ...run, stopping: true }]);
      const runs: Runs = { ...context.runs, ...Object.fromEntries(stopped) };
      enqueue.assign({ runs });
    }),
    /** The link decides what a forgotten or superseded worker does; the duty only found out. */
    passOn: enqueueActions(({ context, enqueue }, linkError: LinkError) => {
      if (linkError.kind === 'unknown_worker' || supersedes(linkError, context)) {
        enqueue.raise({ type: 'LINK_ERROR', linkError });
      }
    }),
    /** Success makes all earlier faults forgotten; too many faults in a row suspend. */
    noteHealth: assign(({ context }, health: AttemptOutput['health']) => {
      if (health === null) return {};
      if (health.well) return { faults: 0, selfTests: 0 };
      const faults = context.faults + 1;
      if (faults < MOST_FAULTS) return { faults };
      return { faults, suspended: `${faults} faults in a row, the last: ${health.why}` };
    }),
    noteSelfTest: assign({ selfTests: ({ context }) => context.selfTests + 1 }),
    noteIll: assign({ suspended: (_, wrong: string) => `it looked at itself: ${wrong}` }),
    noteWell: assign({ suspended: null }),
    /** The other copy holds the id now: what runs here under it would run twice. */
    supersedeRuns: enqueueActions(({ context, enqueue }) => {
      const runs = Object.entries(context.runs);
      for (const [, { actor }] of runs) enqueue.sendTo(actor, { type: 'STOP', reason: 'superseded' });
      enqueue.assign({
        runs: Object.fromEntries(runs.map(([key, run]) => [key, { ...run, stopping: true }])),
      });
    }),
    noteRetiring: assign({ retiring: true }),
    endCalmly: raise({ type: 'DRAIN' }),
    giveBack: raise({ type: 'STOP' }),
    stopRuns: enqueueActions(({ context, enqueue }) => {
      for (const { actor } of Object.values(context.runs)) {
        enqueue.sendTo(actor, { type: 'STOP', reason: 'preempted' });
      }
    }),
    deferRuns: enqueueActions(({ context, enqueue }) => {
      for (const { actor } of Object.values(context.runs)) enqueue.sendTo(actor, { type: 'DEFER' });
    }),
  },
  delays: {
    deliveryTime: ({ context }) => context.deliverySeconds * 1000,
    idleTime: ({ context }) => (context.ending.idleSeconds ?? 0) * 1000,
    /** For a server that answers an open lease request at once; then the request is broken off. */
    withdrawalTime: 5_000,
  },
});

/**
 * Slots that no attempt takes. No more outcomes than slots travel beside what runs: to a server that is slow to take
 * them the worker brings no more.
 */
export function freeSlots({ slots, runs }: AgentContext): number {
  const all = Object.values(runs);
  const running = all.filter(({ delivering }) => !delivering).length;
  return Math.min(slots - running, 2 * slots - all.length);
}

/** What an attempt that has just ended tells of the worker's health, unless it has told that before. */
export const healthToNote = (
  context: AgentContext,
  actor: string,
  { health }: AttemptOutput,
): AttemptOutput['health'] => (runOf(context, actor)?.delivering ? null : health);

const runOf = ({ runs }: AgentContext, actor: string): AttemptEntry | undefined =>
  Object.values(runs).find((run) => run.actor === actor);

/** Names for actors that none has at present, the first ones first. */
function* freeNames(runs: Runs): Generator<string, never> {
  const taken = new Set(Object.values(runs).map(({ actor }) => actor));
  for (let n = 1; ; n++) if (!taken.has(`run.${n}`)) yield `run.${n}`;
}

const newRun = (ref: AttemptRef, actor: string): AttemptEntry => ({
  ...{ ref, actor },
  ...{ saved: false, stopping: false, delivering: false },
});

function supersedes(linkError: LinkError | null, { registered }: AgentContext): boolean {
  return linkError?.kind === 'superseded' && linkError.session === registered?.session;
}
