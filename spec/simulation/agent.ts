import { pino } from 'pino';
import { type Actor, createActor, type EventObject, fromCallback, fromPromise } from 'xstate';
import { attemptLogic } from '../../actors/worker/attempt/attempt-steps.ts';
import type { Uploaded } from '../../actors/worker/delivery/deliver.ts';
import { Reports } from '../../actors/worker/delivery/reports.ts';
import { ActiveList } from '../../actors/worker/link/active-list.ts';
import { sleep, slowWaitMs, waitMs } from '../../actors/worker/link/backoff.ts';
import { rejoin, startHeartbeats } from '../../actors/worker/link/heartbeat.ts';
import type { Identity } from '../../actors/worker/link/identity.ts';
import { LeaseRequests } from '../../actors/worker/link/lease.ts';
import { register } from '../../actors/worker/link/register.ts';
import { WorkerMetrics } from '../../actors/worker/metrics/worker-metrics.ts';
import type { WorkerContext } from '../../actors/worker/worker-context.ts';
import { ClusterClient } from '../../gateway/client/client.ts';
import { activeOf, agentMachine } from '../../machines/agent/agent.ts';
import { ENDLESS } from '../../machines/agent/notice.ts';
import type { LinkError, Notice, Registration, Result, ToCancel } from '../../machines/agent/types.ts';
import {
  type AttemptRef,
  attemptKey,
  type Failed,
  type Lease,
  type Outcome,
} from '../../machines/attempt/attempt.ts';
import type { Seeded } from '../support/seeded.ts';
import type { PlayedLine } from './network.ts';
import type { PeerTime } from './time.ts';

interface AgentOptions {
  name: string;
  slots: number;
  site: string;
  time: PeerTime;
  line: PlayedLine;
  chance: Seeded;
  /** Seconds that a lease request waits. */
  leaseWait: number;
  /** Seconds that the analysis takes at most. */
  longest: number;
}

const silent = pino({ level: 'silent' });

/**
 * The worker program's own statecharts, link and delivery, on a played network and a played machine: a child
 * process is a while of simulated time, and the disk is a map that outlives a crash.
 */
export class PlayedAgent {
  readonly name: string;
  readonly time: PeerTime;
  readonly line: PlayedLine;
  readonly counts = { crashes: 0, children: 0, superseded: 0 };
  /** What is wrong with its machine, in words; null while nothing is. */
  ill: string | null = null;
  readonly #options: AgentOptions;
  readonly #disk = { workerId: undefined as string | undefined, outbox: new Map<string, Saved>() };
  readonly #client: ClusterClient;
  #actor: Actor<typeof agentMachine> | null = null;
  #results = 0;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.name = options.name;
    this.time = options.time;
    this.line = options.line;
    this.#client = new ClusterClient({ server: 'http://server', role: 'worker', dispatcher: options.line });
  }

  get isRunning(): boolean {
    return this.#actor !== null;
  }

  /** Results that the server has not acknowledged. */
  get undelivered(): number {
    return this.#disk.outbox.size;
  }

  get isBusy(): boolean {
    return Object.keys(this.#actor?.getSnapshot().context.runs ?? {}).length > 0;
  }

  start(): void {
    this.time.run(() => {
      const active = new ActiveList();
      const logic = agentMachine.provide({ actors: this.#actors(active) });
      const actor = createActor(logic, {
        input: {
          slots: this.#options.slots,
          saved: [...this.#disk.outbox.values()],
          deliverySeconds: 10,
          ending: ENDLESS,
        },
        clock: timersOf(this.time),
      });
      actor.subscribe({
        next: ({ context }) => active.set(activeOf(context), context.suspended),
        error: (fault) => {
          throw fault;
        },
      });
      this.#actor = actor;
      actor.start();
    });
  }

  /** The process is killed; its disk stays. */
  crash(): void {
    this.counts.crashes++;
    this.time.die();
    this.#actor?.stop();
    this.#actor = null;
  }

  /** What it wakes up with after a crash is a copy of another worker's disk, and nobody tells it so. */
  takeDiskOf(other: PlayedAgent): void {
    const { workerId, outbox } = other.#disk;
    this.#disk.workerId = workerId;
    this.#disk.outbox.clear();
    for (const [key, saved] of outbox) this.#disk.outbox.set(key, saved);
  }

  #actors(active: ActiveList) {
    const client = this.#client;
    const { leaseWait } = this.#options;
    const requests = new LeaseRequests({ client, log: silent, waitSeconds: leaseWait });
    const context = (registered: Registration) => ({ client, active, registered });
    return {
      run: this.#runLogic(),
      notice: fromPromise<void, Notice>(() => new Promise(() => {})),
      register: fromPromise<Result<Registration>>(({ signal }) =>
        register(client, this.#identity(), this.#declaration(), signal),
      ),
      heartbeat: fromCallback<EventObject, { registered: Registration; atOnce: boolean }>(
        ({ sendBack, input }) => startHeartbeats(context(input.registered), sendBack, input.atOnce),
      ),
      rejoin: fromPromise<Result<ToCancel[]>, Registration>(({ input, signal }) =>
        rejoin(context(input), signal),
      ),
      lease: fromPromise<Result<Lease[]>, { registered: Registration; free: number }>(({ input, signal }) =>
        requests.ask(input.registered, input.free, signal),
      ),
      withdraw: fromPromise<void, Registration>(({ input, signal }) => requests.withdraw(input, signal)),
      forgetIdentity: fromPromise<void>(() => {
        this.counts.superseded++;
        return this.#identity().forget();
      }),
      recover: fromPromise<void, { selfTests: number }>(({ input, signal }) =>
        sleep(this.#pauseMs(input.selfTests, null), signal),
      ),
      selfTest: fromPromise<string | null>(async () => this.ill),
      pause: fromPromise<void, Pause>(({ input, signal }) =>
        sleep(this.#pauseMs(input.failures, input.linkError), signal),
      ),
    };
  }

  #pauseMs(failures: number, linkError: LinkError | null): number {
    const { backoff } = this.#settings();
    if (linkError?.kind === 'refused') return slowWaitMs(backoff);
    return waitMs(backoff, failures, linkError?.retryAfter);
  }

  #settings() {
    const limits = { baseMs: 250, maxMs: 10_000, slowMs: 30_000 };
    return { backoff: { limits, random: () => this.#options.chance.next() } };
  }

  #declaration() {
    const { name, slots, site } = this.#options;
    return {
      name,
      slots_total: slots,
      labels: { site },
      capabilities: { catalog: true },
      version: { packages: { demo: '1.0' } },
    };
  }

  #identity(): Identity {
    const disk = this.#disk;
    const identity = {
      read: async () => disk.workerId,
      write: async (id: string) => {
        disk.workerId = id;
      },
      forget: async () => {
        disk.workerId = undefined;
      },
    };
    return identity as unknown as Identity;
  }

  /** The statechart of an attempt: what is sent to the server is the program's own, what touches the machine is played. */
  #runLogic() {
    const { outbox } = this.#disk;
    return attemptLogic(this.#worker()).provide({
      actors: {
        materialize: fromPromise<Failed | null, Lease>(async () => null),
        runChild: fromPromise<Outcome, Lease>(({ input, signal }) => this.#analyse(input, signal)),
        stopWork: fromPromise<void, AttemptRef>(() => sleep(this.#options.chance.between(1, 5000))),
        save: fromPromise<void, Saved & { lease: Lease | null }>(async ({ input: { ref, outcome } }) => {
          outbox.set(attemptKey(ref), { ref, outcome });
        }),
        upload: fromPromise<Uploaded, AttemptRef>(async () => ({ verdict: 'accepted', artifacts: {} })),
        clean: fromPromise<void, AttemptRef>(async ({ input }) => {
          outbox.delete(attemptKey(input));
        }),
      },
    });
  }

  #worker(): WorkerContext {
    const directory = { open: async () => {} };
    const worker = {
      client: this.#client,
      reports: new Reports(this.#client),
      metrics: new WorkerMetrics(),
      directory: () => directory,
      wake: { asked: async () => {}, stoodStill: () => 0 },
      settings: { graceSeconds: 5 },
      logOf: () => silent,
      persistence: (_: AttemptRef, signal: AbortSignal) => ({ ...this.#settings(), log: silent, signal }),
    } satisfies Partial<Record<keyof WorkerContext, unknown>>;
    return worker as unknown as WorkerContext;
  }

  async #analyse({ ref }: Lease, signal: AbortSignal): Promise<Outcome> {
    this.counts.children++;
    const { chance, longest } = this.#options;
    const number = ++this.#results;
    if (this.ill !== null) {
      await sleep(chance.between(50, 2000), signal);
      return { verb: 'fail', failure: { error: this.ill, retriable: true, fault: 'worker' }, own: true };
    }
    // Most are short; a few are endless, for timeouts and cancellations.
    const seconds = chance.chance(0.05) ? 100 * longest : chance.between(0.5, longest);
    const [fails, retriable] = [chance.chance(0.15), chance.chance(0.7)];
    await sleep(seconds * 1000, signal);
    // Some say that it is their own fault, or that the share is not mounted.
    const ill = chance.chance(0.4) && { fault: 'worker' as const };
    const missing = ill && chance.chance(0.2) && { missing_path: '/data' };
    if (fails)
      return { verb: 'fail', failure: { error: `${this.name} ${number}`, retriable, ...ill, ...missing } };
    const metrics = { best_rmse: Math.round(chance.next() * 1e6) / 1e6 };
    const extra = { mark: `${this.name} ${number} ${ref.attempt}` };
    const result = { status: 'succeeded' as const, metrics, extra, demo_version: '1.0' };
    return { verb: 'complete', result };
  }
}

interface Pause {
  failures: number;
  linkError: LinkError | null;
  registered: Registration | null;
}

interface Saved {
  ref: AttemptRef;
  outcome: Outcome;
}

/** Timers as the statechart's interpreter wants them. */
function timersOf(time: PeerTime) {
  const running = new Map<number, () => void>();
  let count = 0;
  return {
    setTimeout(callback: (...args: unknown[]) => void, ms: number) {
      const id = ++count;
      running.set(
        id,
        time.after(ms / 1000, () => {
          running.delete(id);
          callback();
        }),
      );
      return id;
    },
    clearTimeout(id: number) {
      running.get(id)?.();
      running.delete(id);
    },
  };
}
