import { join, resolve } from 'node:path';
import { isNobody } from '../../gateway/client/beside.ts';
import { ClusterClient } from '../../gateway/client/client.ts';
import { processMetrics } from '../../gateway/metrics/process-metrics.ts';
import { PACKAGE_VERSION } from '../../gateway/version.ts';
import type { LinkError } from '../../machines/agent/types.ts';
import { restrictAccess } from '../shared/file-modes.ts';
import { acquireLock } from '../shared/lock.ts';
import { type AgentActor, createAgent, watch } from './agent.ts';
import { dropLeftovers, recoverLeftovers } from './attempt/recover-leftovers.ts';
import { type Settings, settingsOf, type WorkerConfig } from './config.ts';
import { Addresses } from './link/addresses.ts';
import { takeLeave } from './link/heartbeat.ts';
import { Identity } from './link/identity.ts';
import { declarationOf } from './link/registration.ts';
import { logTransitions } from './log-transitions.ts';
import { serveMetrics } from './metrics/metrics-server.ts';
import { WorkerContext } from './worker-context.ts';

/** A worker program under way. */
export interface RunningWorker {
  /** Null until the server has registered it. */
  readonly workerId: string | null;
  /** Resolves with the id once the server has registered the worker. */
  readonly registered: Promise<string>;
  /** Resolves once nothing runs any more; rejects when the server refuses the worker for good. */
  readonly ended: Promise<void>;
  /** First call: no new task, running ones finish. Second: they are given back. Third: nothing is waited for. */
  drain(): void;
  /** Takes no new task; running ones finish, whatever `--grace` says. */
  retire(): void;
  /** Drains, if it does not yet, and resolves when all has ended. */
  stop(): Promise<void>;
  /** Gives back what runs, delivers what it can, and ends. */
  cancelRunning(): void;
  /** Milliseconds after `cancelRunning` in which it has ended, unless something of it hangs. */
  readonly cancelMs: number;
}

const SPARE_SECONDS = 10;

/**
 * Starts a worker program. Resolves once it is registered, or once it is clear that the server is away: then
 * it goes on trying.
 * @throws StartError for a state directory that cannot be used; `ResponseError` when the server refuses
 */
export async function startWorkerProgram(config: WorkerConfig): Promise<RunningWorker> {
  const settings = settingsOf({ ...config, state: resolve(config.state) });
  const lock = await acquireLock(join(settings.state, 'worker.lock'));
  const { server, token, ca } = settings;
  const client = new ClusterClient({
    ...{ server, token, ca, role: 'worker' },
    onLeave: (fault) => void (isNobody(fault) && addresses.look()),
  });
  const addresses = new Addresses(client, settings.log);
  let agent: AgentActor | undefined;
  const shared = new WorkerContext(settings, client, () => agent?.send({ type: 'WOKE' }));
  let stopProcessMetrics = () => {};
  let served: { readonly url: string; close(): void } | undefined;
  const release = async () => {
    addresses.close();
    served?.close();
    stopProcessMetrics();
    await shared.close();
    await client.close();
    await lock.release();
  };
  try {
    await restrictAccess(settings.state, settings.log);
    const { metricsAt } = settings;
    if (metricsAt) {
      stopProcessMetrics = processMetrics(shared.metrics.metrics, PACKAGE_VERSION);
      served = await serveMetrics(shared.metrics.metrics, metricsAt);
      settings.log.info({ url: served.url }, 'metrics are served');
    }
    const identity = new Identity(settings.state);
    const { entries, broken } = await shared.outbox.load();
    for (const path of broken) settings.log.error({ path }, 'a saved result cannot be read; put aside');
    const copied = await identity.copied();
    if (copied !== null) {
      settings.log.warn({ why: copied }, 'the state directory is a copy; this is a new worker');
      // In this order, a start that breaks off is a copy's start once more.
      await dropLeftovers(settings.state, entries, settings.log);
      await identity.forget();
    }
    const interrupted = await recoverLeftovers(settings.state, entries, settings.log);
    for (const entry of interrupted) await shared.outbox.save(entry);
    await shared.open();
    agent = createAgent(shared, identity, await declarationOf(settings), [...entries, ...interrupted]);
    watchState(agent, shared);
    logTransitions(agent, settings.log, settings.server);
    const running = handleOf(agent, client, release, cancelMs(settings));
    agent.start();
    void addresses.look();
    await Promise.race([running.registered, running.ended, firstLinkError(agent)]);
    return running;
  } catch (error) {
    await release();
    throw error;
  }
}

/** A process that hangs in the kernel never ends. */
const cancelMs = ({ graceSeconds, deliverySeconds }: Settings): number =>
  (graceSeconds + deliverySeconds + SPARE_SECONDS) * 1000;

function watchState(agent: AgentActor, shared: WorkerContext): void {
  shared.metrics.watch(() => {
    const { context, value } = agent.getSnapshot();
    const runs = Object.values(context.runs);
    const delivering = runs.filter((run) => run.delivering).length;
    return {
      slots: context.slots,
      running: runs.length - delivering,
      delivering,
      suspended: context.suspended !== null,
      connected: typeof value === 'object' && value.active?.link === 'connected',
      uploads: shared.uploads.pending + shared.uploads.size,
      warmHosts: shared.warmHosts,
      cache: shared.cache.usage,
    };
  });
}

function handleOf(
  agent: AgentActor,
  client: ClusterClient,
  release: () => Promise<void>,
  cancelMs: number,
): RunningWorker {
  const registered = new Promise<string>((found) => {
    watch(agent, ({ context }) => context.registered && found(context.registered.worker_id));
  });
  const ended = endOf(agent).then(
    async () => {
      const { registered: registration, linkError } = agent.getSnapshot().context;
      if (registration !== null && linkError === null) await takeLeave({ client, registered: registration });
      await release();
    },
    async (error: unknown) => {
      await release();
      throw error;
    },
  );
  // Whoever does not wait for the end must not be ended by it.
  ended.catch(() => {});
  let ending = false;
  const drain = () => {
    ending = true;
    agent.send({ type: 'DRAIN' });
  };
  return {
    retire() {
      ending = true;
      agent.send({ type: 'RETIRE' });
    },
    get workerId() {
      return agent.getSnapshot().context.registered?.worker_id ?? null;
    },
    registered,
    ended,
    drain,
    async stop() {
      if (!ending) drain();
      await ended;
    },
    cancelMs,
    cancelRunning() {
      ending = true;
      agent.send({ type: 'STOP' });
    },
  };
}

/** The end of the agent; a refusal at start-up is thrown. */
function endOf(agent: AgentActor): Promise<void> {
  return new Promise((resolve, reject) => {
    agent.subscribe({
      complete() {
        const failure = agent.getSnapshot().output?.failure;
        if (failure) reject(failure.cause ?? new Error(failure.detail));
        else resolve();
      },
      error: reject,
    });
  });
}

function firstLinkError(agent: AgentActor): Promise<LinkError> {
  return new Promise((resolve) => {
    watch(agent, ({ context }) => context.linkError && resolve(context.linkError));
  });
}
