import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as tick } from 'node:timers/promises';
import { pino } from 'pino';
import type { SupervisorSettings } from '../../actors/server/core.ts';
import type { Candidate } from '../../actors/server/store/candidate.ts';
import type { Backend } from '../../gateway/backend.ts';
import type { EventView } from '../../machines/schema/views.ts';
import type { Seeded } from '../support/seeded.ts';
import { type SpareStore, spareStore } from '../support/spare-stores.ts';
import type { StepClock } from '../support/step-clock.ts';
import { asSent } from '../support/views.ts';
import type { WireCall, WireRequest } from '../support/wire.ts';
import { A_MOMENT, type DiskWeather, Life, PROBE_INTERVAL, type ServerCounts } from './life.ts';
import { takeLockFrom, watchSessions } from './lock.ts';

/** The real cluster and gateway, with a disk that takes simulated time, and a plug that can be pulled. */
export class PlayedServer {
  disk: DiskWeather = { commit: 0.01, full: false };
  readonly counts: ServerCounts = { commits: 0, failedCommits: 0, crashes: 0, restarts: 0, superseded: 0 };
  /** How many processes have begun to lead. */
  reigns = 0;
  onEvents: (events: EventView[]) => void = () => {};
  readonly #clock: StepClock;
  readonly #chance: Seeded;
  readonly #settings: Partial<SupervisorSettings>;
  readonly folder: string;
  readonly #store: SpareStore;
  #life: Life | null = null;
  /** The state directory of the present process. */
  #place: string;
  /** Those from which another one took the store, and which may not know it yet. */
  readonly #former = new Set<Life>();
  /** Ends of such that have heard of it. */
  readonly #leaving: Promise<void>[] = [];

  private constructor(
    clock: StepClock,
    chance: Seeded,
    settings: Partial<SupervisorSettings>,
    folder: string,
    store: SpareStore,
  ) {
    this.#clock = clock;
    this.#chance = chance;
    this.#settings = settings;
    this.folder = folder;
    this.#place = folder;
    this.#store = store;
  }

  static async make(
    clock: StepClock,
    chance: Seeded,
    settings: Partial<SupervisorSettings>,
    base: string,
  ): Promise<PlayedServer> {
    const folder = await mkdtemp(join(base, 'jq-simulation-'));
    const store = await spareStore();
    if (store.address !== undefined) watchSessions();
    const server = new PlayedServer(clock, chance, settings, folder, store);
    await server.start();
    return server;
  }

  /** The process is stopped: it hears and says nothing, and nothing in it comes due. */
  freeze(): void {
    this.#life?.freeze();
  }

  thaw(): void {
    for (const life of this.#lives) life.thaw();
  }

  get #lives(): Life[] {
    return [...(this.#life ? [this.#life] : []), ...this.#former];
  }

  /** Whether another process can take the store. */
  get canBeUsurped(): boolean {
    return this.#store.address !== undefined && this.isUp && this.#former.size === 0;
  }

  get isUp(): boolean {
    return this.#life !== null;
  }

  get port(): Backend {
    if (!this.#life) throw new Error('the server is down');
    return this.#life.port;
  }

  /** Whether what is in memory is what is in the file. */
  get isIdle(): boolean {
    return this.#life?.isIdle ?? false;
  }

  /** Whether all that is over by now has been dealt with. */
  get isPunctual(): boolean {
    return this.#life?.isPunctual ?? false;
  }

  /** What takes requests; null while the server is down. Of two that believe that they lead, either. */
  get wire(): { request(request: WireRequest): WireCall } | null {
    const [former] = this.#former;
    return former && this.#chance.chance(0.5) ? former : this.#life;
  }

  async start(): Promise<void> {
    const life = new Life(this.#clock, this.#chance, () => this.disk, this.counts);
    const stop = new AbortController();
    const candidate: Candidate = {
      ...{
        address: null,
        givesUp: stop.signal,
        leaderSeen: () => {},
        storeSeen: () => {},
        storeTaken: () => {},
        differs: () => {},
        configuration: () => ({}),
      },
      epochOver: () => this.#superseded(life),
    };
    await life.start({
      stateDir: this.#place,
      store: this.#store.address,
      candidate,
      log: pino({ level: 'silent' }),
      maxArtifactBytes: 1024 * 1024,
      settings: { ...this.#settings, probeInterval: PROBE_INTERVAL },
      clock: life.clock,
      hearing: life.hearing((this.#settings.heartbeatInterval ?? 10) / 4),
      random: (n) => this.#chance.bytes(n),
      // One that another has followed is cut off from the store until it writes.
      hooks: {
        ...life.faults,
        beforeRenewal: () => (this.#former.has(life) ? new Promise(() => {}) : Promise.resolve()),
      },
    });
    // What a former one publishes has been found in the store by then.
    life.port.events.subscribe((events) => {
      if (life === this.#life) this.onEvents(asSent(events));
    });
    this.reigns++;
    this.#life = life;
  }

  /** Another process takes the store; the present one lives on, and believes that it leads. */
  async usurp(): Promise<void> {
    if (this.#life === null || this.#store.address === undefined) return;
    this.#former.add(this.#life);
    this.#life = null;
    this.#place = await mkdtemp(join(this.folder, 'other-'));
    await takeLockFrom(this.#store.address, this.#chance.chance(0.5));
    await this.start();
  }

  /** It has heard that it leads no more, and ends as a process does. */
  #superseded(life: Life): void {
    life.isSuperseded = true;
    if (!this.#former.delete(life)) throw new Error('the server that leads was superseded by nobody');
    this.counts.superseded++;
    this.#leaving.push(life.end('calmly'));
  }

  /** Whoever leads no more ends, whether it has heard of it or not. */
  async retire(): Promise<void> {
    for (const life of this.#former) {
      this.#former.delete(life);
      await life.end('calmly');
    }
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

  /**
   * Waits until nothing goes on any more but what waits for simulated time.
   * @returns whether the server had anything to do since the last time: if not, nothing of it can have changed
   */
  async rest(): Promise<boolean> {
    for (let i = 0; i < A_MOMENT; i++) await tick();
    let hasWorked = false;
    for (const life of this.#lives) hasWorked = (await life.rest()) || hasWorked;
    await Promise.all(this.#leaving.splice(0));
    return hasWorked;
  }

  async remove(): Promise<void> {
    await this.retire();
    await this.#life?.end('calmly');
    await Promise.all(this.#leaving);
    this.#store.giveBack();
    await rm(this.folder, { recursive: true, force: true });
  }
}
