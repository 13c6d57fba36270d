import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay, setImmediate as tick } from 'node:timers/promises';
import { pino } from 'pino';
import type { Clock } from '../../actors/clock.ts';
import { type Cluster, startCluster } from '../../actors/cluster.ts';
import type { StoreFaults } from '../../actors/store/store.ts';
import type { SupervisorSettings } from '../../actors/supervisor/core.ts';
import type { ClusterPort, Reads } from '../../gateway/ports.ts';
import { PACKAGE_VERSION } from '../../gateway/version.ts';
import type { EventView } from '../../machines/schema/views.ts';
import type { Seeded } from '../support/seeded.ts';
import type { StepClock } from '../support/step-clock.ts';
import { Wire, type WireCall, type WireRequest } from '../support/wire.ts';

/** What the disk does, in simulated seconds. */
export interface DiskWeather {
  /** A commit takes at most this long. */
  commit: number;
  /** Commits fail. */
  full: boolean;
}

/** Real milliseconds in which a read of one row has long ended. */
const A_READ_MS = 50;
/** Seconds, unlike any other time that the server waits, so that it is known which timer tries the store. */
const PROBE_INTERVAL = 1.0001;
/** Real milliseconds after which a server that still has not come to rest never will. */
const MOST_MS = 60_000;
/** Ticks of the event loop in which nothing may happen before everything counts as being at rest. */
const QUIET = 6;

/** The real cluster and gateway, with a disk that takes simulated time, and a plug that can be pulled. */
export class PlayedServer {
  disk: DiskWeather = { commit: 0.01, full: false };
  readonly counts = { commits: 0, failedCommits: 0, crashes: 0, restarts: 0 };
  onEvents: (events: EventView[]) => void = () => {};
  readonly #clock: StepClock;
  readonly #chance: Seeded;
  readonly #settings: Partial<SupervisorSettings>;
  readonly folder: string;
  #life: Life | null = null;

  private constructor(
    clock: StepClock,
    chance: Seeded,
    settings: Partial<SupervisorSettings>,
    folder: string,
  ) {
    this.#clock = clock;
    this.#chance = chance;
    this.#settings = settings;
    this.folder = folder;
  }

  static async make(
    clock: StepClock,
    chance: Seeded,
    settings: Partial<SupervisorSettings>,
    base: string,
  ): Promise<PlayedServer> {
    const server = new PlayedServer(clock, chance, settings, await mkdtemp(join(base, 'jq-simulation-')));
    await server.start();
    return server;
  }

  get isUp(): boolean {
    return this.#life !== null;
  }

  get port(): ClusterPort {
    if (!this.#life) throw new Error('the server is down');
    return this.#life.port;
  }

  /** Whether what is in memory is what is in the file. */
  get isIdle(): boolean {
    return this.#life?.isIdle ?? false;
  }

  /** What takes requests; null while the server is down. */
  get wire(): { request(request: WireRequest): WireCall } | null {
    return this.#life;
  }

  async start(): Promise<void> {
    const life = new Life(this.#clock, this.#chance, () => this.disk, this.counts);
    await life.start({
      stateDir: this.folder,
      log: pino({ level: 'silent' }),
      maxArtifactBytes: 1024 * 1024,
      settings: { ...this.#settings, probeInterval: PROBE_INTERVAL },
      clock: life.clock,
      random: (n) => this.#chance.bytes(n),
      faults: life.faults,
    });
    life.port.events.subscribe((events) => this.onEvents(events));
    this.#life = life;
  }

  /** The process is gone, with all that it had in memory; the file is as the last commit left it. */
  async crash(): Promise<void> {
    const life = this.#life;
    this.#life = null;
    this.counts.crashes++;
    await life?.end('crash');
  }

  async stop(): Promise<void> {
    const life = this.#life;
    this.#life = null;
    this.counts.restarts++;
    await life?.end('calmly');
  }

  /** Waits until nothing goes on any more but what waits for simulated time. */
  async rest(): Promise<void> {
    await this.#life?.rest();
    for (let i = 0; i < QUIET; i++) await tick();
  }

  async remove(): Promise<void> {
    await this.#life?.end('calmly');
    await rm(this.folder, { recursive: true, force: true });
  }
}

const isSubmission = ({ method, path }: WireRequest): boolean => method === 'POST' && path === '/v1/jobs';

/** One process of the server, from its start to its end. */
class Life {
  readonly faults: StoreFaults;
  /** The simulated clock; it notes when the store is about to be tried. */
  readonly clock: Clock;
  readonly #calls = new Set<WireRequest & { call: WireCall }>();
  readonly #clock: StepClock;
  readonly #disk: () => DiskWeather;
  readonly #counts: PlayedServer['counts'];
  #cluster: Cluster | null = null;
  #wire: Wire | null = null;
  #reading = 0;
  /** Whether a commit has begun and is not durable yet. */
  #writing = false;
  /** The store is about to be tried: until a commit under way has ended, no letter is handled. */
  #trying = false;
  /** Submissions that were made before: such a one is answered by a read that nobody counts. */
  readonly #repeated = new Set<WireCall>();
  readonly #submitted = new Set<string>();
  #ending: 'crash' | 'calmly' | null = null;
  /** Commits that wait for simulated time. */
  readonly #held = new Set<() => void>();

  constructor(clock: StepClock, chance: Seeded, disk: () => DiskWeather, counts: PlayedServer['counts']) {
    this.#clock = clock;
    this.#disk = disk;
    this.#counts = counts;
    this.clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      timer: (seconds, callback) =>
        clock.timer(seconds, () => {
          this.#trying ||= seconds === PROBE_INTERVAL;
          callback();
        }),
    };
    const fail = () => {
      const fails = this.#ending === 'crash' || (this.#disk().full && this.#ending === null);
      this.#counts[fails ? 'failedCommits' : 'commits']++;
      if (fails) throw Object.assign(new Error('SQLITE_FULL: disk full'), { code: 'SQLITE_FULL' });
    };
    this.faults = {
      // Nothing else is handled meanwhile, so that waiting for simulated time would only hold up the simulation.
      beforeProbe: async () => {
        this.#trying = false;
        fail();
      },
      beforeCommit: async () => {
        await this.#hold(chance.between(0, this.#disk().commit));
        fail();
        this.#writing = true;
      },
      afterCommit: () => {
        this.#writing = false;
        return this.#hold(chance.between(0, this.#disk().commit / 2));
      },
    };
  }

  async start(options: Parameters<typeof startCluster>[0]): Promise<void> {
    this.#cluster = await startCluster(options);
    this.#wire = new Wire({ ...this.port, reads: this.#counted(this.port.reads) });
  }

  get port(): ClusterPort {
    return (this.#cluster as Cluster).port;
  }

  get isIdle(): boolean {
    return this.#held.size === 0;
  }

  request(request: WireRequest): WireCall {
    const call = (this.#wire as Wire).request(request);
    const entry = { ...request, call };
    this.#calls.add(entry);
    if (isSubmission(request) && this.#submitted.has(request.body ?? '')) this.#repeated.add(call);
    if (isSubmission(request)) this.#submitted.add(request.body ?? '');
    const over = () => {
      this.#calls.delete(entry);
      this.#repeated.delete(call);
    };
    call.answer.then(over, over);
    return call;
  }

  async end(how: 'crash' | 'calmly'): Promise<void> {
    this.#ending = how;
    if (how === 'crash') for (const { call } of this.#calls) call.hangUp();
    for (const release of [...this.#held]) release();
    await this.#cluster?.stop();
    for (const { call } of this.#calls) call.hangUp();
  }

  async rest(): Promise<void> {
    for (let barriers = 0; barriers < 2; ) {
      await this.#quiet();
      const barrier = this.#sendBarrier();
      await this.#spin(() => barrier.handled || (this.#trying && this.#held.size > 0));
      await this.#quiet();
      await this.#spin(() => barrier.answered || this.#held.size > 0);
      if (barrier.answered) barriers++;
      else {
        if (this.#repeated.size > 0) await delay(A_READ_MS);
        return;
      }
    }
    await Promise.allSettled([...this.#calls].filter(isSubmission).map(({ call }) => call.answer));
  }

  async #quiet(): Promise<void> {
    for (let i = 0; i < QUIET; i++) await tick();
    await this.#spin(() => this.#reading === 0 && !this.#writing);
  }

  /** Real work takes real time, but never this much. */
  async #spin(condition: () => boolean): Promise<void> {
    for (const end = Date.now() + MOST_MS; !condition(); await tick()) {
      if (Date.now() > end) throw new Error('the server does not come to rest');
    }
  }

  /**
   * A message that changes nothing and goes through the mailbox behind all others. It tells when it is handled,
   * which may be long before it is answered: a letter is handled while the turn before it is written.
   */
  #sendBarrier(): { handled: boolean; answered: boolean } {
    const barrier = { handled: false, answered: false };
    const nothing = {
      type: 'note_peer',
      version: PACKAGE_VERSION,
      get role() {
        barrier.handled = true;
        return 'client';
      },
    } as const;
    const over = () => {
      barrier.handled = true;
      barrier.answered = true;
    };
    this.port.send(nothing).then(over, over);
    return barrier;
  }

  #hold(seconds: number): Promise<void> {
    if (this.#ending) return Promise.resolve();
    return new Promise((resolve) => {
      const release = () => {
        cancel();
        this.#held.delete(release);
        resolve();
      };
      const cancel = this.#clock.timer(seconds, release);
      this.#held.add(release);
    });
  }

  /** Reads go on beside turns; a rest has to wait for them too. */
  #counted(reads: Reads): Reads {
    return new Proxy(reads, {
      get:
        (target, name: keyof Reads) =>
        (...args: unknown[]) => {
          const result = (target[name] as (...args: unknown[]) => unknown)(...args);
          if (!(result instanceof Promise)) return result;
          this.#reading++;
          const over = () => {
            this.#reading--;
          };
          result.then(over, over);
          return result;
        },
    });
  }
}
