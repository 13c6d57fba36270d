import { type Actor, createActor, fromCallback, fromPromise, type SnapshotFrom } from 'xstate';
import { activeOf, agentMachine, isLeaving } from '../../machines/agent/agent.ts';
import type { LinkError, Notice, Registration, Result, ToCancel } from '../../machines/agent/types.ts';
import type { Lease } from '../../machines/attempt/attempt.ts';
import { attemptLogic } from './attempt/attempt-steps.ts';
import type { OutboxEntry } from './delivery/outbox.ts';
import { ActiveList } from './link/active-list.ts';
import { sleep, slowWaitMs, waitMs } from './link/backoff.ts';
import { rejoin, startHeartbeats } from './link/heartbeat.ts';
import type { Identity } from './link/identity.ts';
import { LeaseRequests } from './link/lease.ts';
import { register } from './link/register.ts';
import type { Declaration } from './link/registration.ts';
import { selfTest } from './self-test.ts';
import type { WorkerContext } from './worker-context.ts';

export type AgentActor = Actor<typeof agentMachine>;

/** The statechart of the worker program with its impure parts; not started. */
export function createAgent(
  shared: WorkerContext,
  identity: Identity,
  declaration: Declaration,
  saved: OutboxEntry[],
): AgentActor {
  const { settings, client } = shared;
  const { log } = settings;
  const active = new ActiveList();
  const requests = new LeaseRequests({ client, log, waitSeconds: settings.leaseWaitSeconds });

  const logic = agentMachine.provide({
    actors: {
      run: attemptLogic(shared),
      register: fromPromise<Result<Registration>>(async ({ signal }) => {
        const answer = await register(client, identity, declaration, signal);
        if (answer.ok) shared.reports.registered(answer.value);
        return answer;
      }),
      heartbeat: fromCallback(({ sendBack, input }) =>
        startHeartbeats({ client, active, registered: input.registered }, sendBack, input.atOnce),
      ),
      rejoin: fromPromise<Result<ToCancel[]>, Registration>(({ input, signal }) =>
        rejoin({ client, active, registered: input }, signal),
      ),
      lease: fromPromise<Result<Lease[]>, { registered: Registration; free: number }>(({ input, signal }) =>
        requests.ask(input.registered, input.free, signal),
      ),
      withdraw: fromPromise<void, Registration>(({ input, signal }) => requests.withdraw(input, signal)),
      forgetIdentity: fromPromise<void>(() => identity.forget()),
      notice: fromPromise<void, Notice>(({ input, signal }) => untilNotice(input, signal)),
      recover: fromPromise<void, { selfTests: number }>(({ input, signal }) =>
        sleep(recoveryMs(shared, input.selfTests), signal),
      ),
      selfTest: fromPromise<string | null>(async ({ signal }) => {
        // Should the disk be full, the inputs that are kept give way first.
        await shared.cache.trim();
        return selfTest(shared, signal);
      }),
      pause: fromPromise<void, PauseInput>(({ input, signal }) => sleep(pauseMs(shared, input), signal)),
    },
  });
  const agent = createActor(logic, {
    input: {
      slots: settings.slots,
      saved,
      deliverySeconds: settings.deliverySeconds,
      ending: settings.ending,
    },
  });
  agent.subscribe({
    next: (snapshot) => {
      const { context } = snapshot;
      const leaves = isLeaving(snapshot);
      active.set(activeOf(context), context.suspended, leaves ? 'draining' : null);
      if (leaves) shared.toldToEnd.abort();
      shared.wake.set(context.woken);
    },
    error: (fault) => log.fatal({ err: fault }, 'the agent failed'),
  });
  return agent;
}

/** Looks at each state. A fault of the statechart itself is not this observer's: the worker's end tells it. */
export function watch(agent: AgentActor, look: (snapshot: SnapshotFrom<typeof agentMachine>) => void): void {
  agent.subscribe({ next: look, error: () => {} });
}

/** The wall clock may be set meanwhile, and the machine may sleep: it is looked at again so often. */
const LOOK_MS = 60_000;

async function untilNotice({ seconds, at }: Notice, signal: AbortSignal): Promise<void> {
  const ends = performance.now() + (seconds ?? Number.POSITIVE_INFINITY) * 1000;
  const left = () => Math.min(ends - performance.now(), (at ?? Number.POSITIVE_INFINITY) * 1000 - Date.now());
  for (let ms = left(); ms > 0; ms = left()) await sleep(Math.min(ms, LOOK_MS), signal);
}

interface PauseInput {
  failures: number;
  linkError: LinkError | null;
  registered: Registration | null;
}

function recoveryMs({ settings }: WorkerContext, selfTests: number): number {
  return waitMs(
    { limits: { ...settings.backoff, ...settings.recovery }, random: settings.random },
    selfTests,
  );
}

/** Never longer than a heartbeat interval while the server is away: leases have to be renewed in time. */
function pauseMs({ settings }: WorkerContext, { failures, linkError, registered }: PauseInput): number {
  const interval = registered ? registered.heartbeat_interval_s * 1000 : Number.POSITIVE_INFINITY;
  const limits = { ...settings.backoff, maxMs: Math.min(settings.backoff.maxMs, interval) };
  const backoff = { limits, random: settings.random };
  return linkError?.kind === 'refused'
    ? slowWaitMs(backoff)
    : waitMs(backoff, failures, linkError?.retryAfter);
}
